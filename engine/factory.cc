#include "engine/factory.h"

#include "engine/base/error.h"
#include "engine/base/private_names.h"
#include "engine/cuda_device.h"
#include "engine/embedded/embedded_backend.h"
#include "engine/remote/remote_backend.h"

namespace detcheck {
namespace {

std::unique_ptr<Backend> Start(const TargetOptions& options, const EngineDevice& device) {
  return std::make_unique<EmbeddedBackend>(options.embedded, device);
}

std::unique_ptr<Backend> StartCuda(const TargetOptions& options) {
  std::string why_not;
  const std::optional<EngineDevice> cuda = FindCudaDevice(&why_not);
  if (!cuda) throw Error(ErrorCode::kDevice, why_not);
  return Start(options, *cuda);
}

/// Whether the CPU may take the place of a CUDA engine that ended so at its start.
bool IsOfTheDevice(const Error& error) {
  return error.code() == ErrorCode::kDevice || error.code() == ErrorCode::kUnsupported;
}

/// The CUDA engine where it starts, else the CPU's.
std::unique_ptr<Backend> StartBest(const TargetOptions& options, std::string* choice) {
  try {
    std::unique_ptr<Backend> backend = StartCuda(options);
    *choice = "engine cuda: a GPU works here";
    return backend;
  } catch (const Error& error) {
    if (!IsOfTheDevice(error)) throw;
    *choice = "engine cpu: " + WithoutPaths(error.what());  // Goes into the report.
  }
  return Start(options, CpuDevice());
}

}  // namespace

std::unique_ptr<Backend> MakeBackend(const TargetOptions& options, std::string* choice) {
  std::string line;
  std::string* told = choice == nullptr ? &line : choice;
  told->clear();
  if (!options.remote.endpoint.empty()) {
    auto remote = std::make_unique<RemoteBackend>(options.remote);
    *told = remote->Summary();
    return remote;
  }
  if (options.engine == "auto") return StartBest(options, told);
  if (options.engine == "cpu") return Start(options, CpuDevice());
  if (options.engine != "cuda") {
    throw Error(ErrorCode::kUsage,
                "--engine " + options.engine + ": no such engine; there are auto, cpu and cuda");
  }
  try {
    return StartCuda(options);
  } catch (const Error& error) {
    if (!IsOfTheDevice(error)) throw;
    throw Error(ErrorCode::kDevice, std::string("--engine cuda: ") + error.what());
  }
}

}  // namespace detcheck
