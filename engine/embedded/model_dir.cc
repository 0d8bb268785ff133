#include "engine/embedded/model_dir.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "engine/base/error.h"
#include "engine/embedded/config_json.h"
#include "engine/embedded/model_files.h"
#include "engine/embedded/safetensors_weights.h"
#include "engine/embedded/synthetic.h"

namespace detcheck {
namespace {

constexpr std::string_view kSyntheticPrefix = "synthetic:";

int NumThreads(const EngineOptions& options) {
  if (options.num_threads > 0) return options.num_threads;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

LoadedModel LoadSynthetic(const EngineOptions& options) {
  SyntheticModel model = FindSyntheticModel(options.model.substr(kSyntheticPrefix.size()));
  if (options.dtype) model.config.dtype = *options.dtype;
  auto weights =
      std::make_unique<SyntheticWeights>(model, options.random_seed, NumThreads(options));
  return {model.config, std::move(weights), ""};
}

LoadedModel LoadDirectory(const EngineOptions& options) {
  const std::string& dir = options.model;
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    throw Error(ErrorCode::kInput, dir + ": no such directory");
  }
  ModelConfig config = ReadConfigJson(dir + "/config.json");
  config.name = ModelNameOf(dir);
  if (options.dtype) config.dtype = *options.dtype;
  return {config, std::make_unique<SafetensorsWeights>(dir), dir};
}

}  // namespace

LoadedModel LoadModel(const EngineOptions& options) {
  if (options.model.starts_with(kSyntheticPrefix)) return LoadSynthetic(options);
  return LoadDirectory(options);
}

}  // namespace detcheck
