#include "engine/embedded/cuda/gpu.h"

#include <cstdlib>

#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

constexpr int kLeastMajor = 8;  // sm_80: bf16 tensor cores and asynchronous copies.

std::string Version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// `status` of counting the devices, where there is none.
std::string WhyNoDevice(cudaError_t status) {
  int driver = 0, runtime = 0;
  if (status == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      driver > 0 && cudaRuntimeGetVersion(&runtime) == cudaSuccess) {
    return "the driver is of CUDA " + Version(driver) + ", this build needs " + Version(runtime) +
           " or later";
  }
  std::string why = status == cudaSuccess ? "no CUDA device" : cudaGetErrorString(status);
  if (std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) why += " (CUDA_VISIBLE_DEVICES is set)";
  return why;
}

}  // namespace

std::string FindGpu(std::string* why_not) {
  int num_devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&num_devices);
  if (status != cudaSuccess || num_devices == 0) {
    *why_not = "no GPU: " + WhyNoDevice(status);
    return "";
  }
  cudaDeviceProp device{};
  const cudaError_t asked = cudaGetDeviceProperties(&device, 0);
  if (asked != cudaSuccess) {
    *why_not = std::string("no GPU: ") + cudaGetErrorString(asked);
    return "";
  }
  if (device.major < kLeastMajor) {
    *why_not = std::string(device.name) + " has compute capability " +
               std::to_string(device.major) + "." + std::to_string(device.minor) +
               ", at least 8.0 is needed";
    return "";
  }
  // A device in use by others, or in a mode that forbids it, shows only now.
  const cudaError_t started = cudaFree(nullptr);
  if (started != cudaSuccess) {
    *why_not = std::string(device.name) + " cannot be used: " + cudaGetErrorString(started);
    return "";
  }
  return device.name;
}

Manifest DescribeGpu() {
  cudaDeviceProp device{};
  DETCHECK_CUDA(cudaGetDeviceProperties(&device, 0));
  int driver = 0;
  int runtime = 0;
  DETCHECK_CUDA(cudaDriverGetVersion(&driver));
  DETCHECK_CUDA(cudaRuntimeGetVersion(&runtime));
  Manifest manifest;
  const auto add = [&manifest](const char* name, std::string value) {
    manifest.push_back({name, std::move(value), FieldSource::kObserved});
  };
  add("device.gpu_name", device.name);
  add("device.compute_capability",
      std::to_string(device.major) + "." + std::to_string(device.minor));
  add("device.sm_count", std::to_string(device.multiProcessorCount));
  add("device.memory_bytes", std::to_string(device.totalGlobalMem));
  add("device.ecc", device.ECCEnabled != 0 ? "on" : "off");
  add("device.cuda_driver", Version(driver));
  add("device.cuda_runtime", Version(runtime));
  return manifest;
}

}  // namespace detcheck::cuda
