#include "engine/base/error.h"
#include "engine/embedded/cpu/cpu_ops.h"

namespace detcheck {

std::unique_ptr<Ops> MakeCpuOps(const ModelConfig& config, const EngineOptions& options,
                                int max_rows) {
  if (options.attention_backend != "cpu") {
    throw Error(ErrorCode::kUsage, "attention backend " + options.attention_backend +
                                       ": the CPU engine has only \"cpu\"");
  }
  if (options.deterministic) return cpu::MakeDeterministicOps(config, options, max_rows);
#if defined(DETCHECK_OPENBLAS)
  return cpu::MakeDefaultOps(config, options, max_rows);
#else
  throw Error(ErrorCode::kUnsupported,
              "default mode on the CPU: this build has no OpenBLAS (DETCHECK_OPENBLAS=OFF); "
              "--enable-deterministic-inference works");
#endif
}

}  // namespace detcheck
