#include "engine/factory.h"

#include "engine/base/error.h"
#include "engine/embedded/embedded_backend.h"
#include "engine/embedded/ops.h"

namespace detcheck {

std::unique_ptr<Backend> MakeBackend(const TargetOptions& options, std::string* choice) {
  if (choice != nullptr) choice->clear();
  if (options.engine == "cuda") {
    throw Error(ErrorCode::kDevice, "--engine cuda: this build has no CUDA engine");
  }
  if (options.engine != "auto" && options.engine != "cpu") {
    throw Error(ErrorCode::kUsage,
                "--engine " + options.engine + ": no such engine; there are auto, cpu and cuda");
  }
  if (options.engine == "auto" && choice != nullptr) {
    *choice = "engine cpu: this build has no CUDA engine";
  }
  return std::make_unique<EmbeddedBackend>(options.embedded, MakeCpuOps, "cpu");
}

}  // namespace detcheck
