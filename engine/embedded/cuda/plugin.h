#pragma once

#include <memory>
#include <string>

#include "engine/embedded/ops.h"

/// What the shared object of the CUDA engine exports. Both sides are built together.
namespace detcheck::cuda {

struct Plugin {
  /// Name of the GPU that would be used; where none can be, empty, with the reason in `why_not`.
  std::string (*find_gpu)(std::string* why_not);
  /// Errors: Error(kDevice), Error(kUsage), Error(kUnsupported).
  std::unique_ptr<Ops> (*make_ops)(const ModelConfig& config, const EngineOptions& options,
                                   const StepCapacity& capacity);
};

/// Type of the one exported function. Its name, which the build gives as DETCHECK_CUDA_ENTRY, has
/// a digest of the headers that both sides share in it: a shared object of another build has none
/// of this name.
using PluginEntry = const Plugin* (*)();

/// File name, looked for where the dynamic loader looks on behalf of the program.
inline constexpr char kPluginFile[] = "libdetcheck_cuda.so";

}  // namespace detcheck::cuda
