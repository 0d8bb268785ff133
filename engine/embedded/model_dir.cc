#include "engine/embedded/model_dir.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>

#include "engine/base/error.h"
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
  return {model.config, std::move(weights)};
}

}  // namespace

LoadedModel LoadModel(const EngineOptions& options) {
  if (options.model.starts_with(kSyntheticPrefix)) return LoadSynthetic(options);
  throw Error(ErrorCode::kUsage, "--model " + options.model + ": not a synthetic model");
}

}  // namespace detcheck
