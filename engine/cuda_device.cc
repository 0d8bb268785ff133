#include "engine/cuda_device.h"

#include <dlfcn.h>

#include "engine/embedded/cuda/plugin.h"

namespace detcheck {
namespace {

constexpr int64_t kMostKvBytes = int64_t{16} << 30;
constexpr int64_t kMostScoreLogitsBytes = int64_t{1} << 30;

struct LoadedPlugin {
  const cuda::Plugin* plugin = nullptr;
  std::string why_not;
};

LoadedPlugin Load() {
#if defined(DETCHECK_CUDA_ENTRY_NAME)
  // Looked for first: without a driver there is no need of the large libraries.
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    return {nullptr, "no NVIDIA driver (libcuda.so.1) on this machine"};
  }
  void* library = dlopen(cuda::kPluginFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return {nullptr, std::string("the CUDA engine cannot be loaded: ") + dlerror()};
  const auto entry = reinterpret_cast<cuda::PluginEntry>(dlsym(library, DETCHECK_CUDA_ENTRY_NAME));
  if (entry == nullptr) return {nullptr, std::string(cuda::kPluginFile) + " is of another build"};
  return {entry(), ""};
#else
  return {nullptr, "this build has no CUDA engine"};
#endif
}

}  // namespace

std::optional<EngineDevice> FindCudaDevice(std::string* why_not) {
  static const LoadedPlugin loaded = Load();
  if (loaded.plugin == nullptr) {
    *why_not = loaded.why_not;
    return std::nullopt;
  }
  if (loaded.plugin->find_gpu(why_not).empty()) return std::nullopt;
  return EngineDevice{.name = "cuda",
                      .make_ops = loaded.plugin->make_ops,
                      .default_attention_backend = "flash",
                      .most_kv_bytes = kMostKvBytes,
                      .most_score_logits_bytes = kMostScoreLogitsBytes};
}

}  // namespace detcheck
