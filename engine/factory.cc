#include "engine/factory.h"

#include "engine/base/error.h"
#include "engine/cuda_device.h"
#include "engine/embedded/embedded_backend.h"

namespace detcheck {
namespace {

EngineDevice DeviceNamed(const std::string& engine, std::string* choice) {
  if (engine == "cpu") return CpuDevice();
  std::string why_not;
  const std::optional<EngineDevice> cuda = FindCudaDevice(&why_not);
  if (engine == "cuda") {
    if (!cuda) throw Error(ErrorCode::kDevice, "--engine cuda: " + why_not);
    return *cuda;
  }
  if (engine != "auto") {
    throw Error(ErrorCode::kUsage,
                "--engine " + engine + ": no such engine; there are auto, cpu and cuda");
  }
  *choice = cuda ? "engine cuda: a GPU works here" : "engine cpu: " + why_not;
  return cuda ? *cuda : CpuDevice();
}

}  // namespace

std::unique_ptr<Backend> MakeBackend(const TargetOptions& options, std::string* choice) {
  std::string line;
  const EngineDevice device = DeviceNamed(options.engine, &line);
  if (choice != nullptr) *choice = line;
  return std::make_unique<EmbeddedBackend>(options.embedded, device);
}

}  // namespace detcheck
