#include "engine/base/error.h"
#include "engine/embedded/cpu/cpu_ops.h"
#include "engine/embedded/device.h"

namespace detcheck {

std::unique_ptr<Ops> MakeCpuOps(const ModelConfig& config, const EngineOptions& options,
                                int max_rows) {
  if (options.attention_backend != "cpu" && options.attention_backend != "auto") {
    throw Error(ErrorCode::kUsage, "--attention-backend " + options.attention_backend +
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

EngineDevice CpuDevice() {
  return {.name = "cpu",
          .make_ops = [](const ModelConfig& config, const EngineOptions& options,
                         const StepCapacity& capacity) {
            return MakeCpuOps(config, options, capacity.max_rows);
          },
          .default_attention_backend = "cpu"};
}

}  // namespace detcheck
