// A driver without a device, in the place of libcuda.so.1: of the CUDA version in FAKE_CUDA_VERSION
// (as cuDriverGetVersion has it), else of 13.0.

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

int NoDevice() {
  return kNoDevice;
}

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_CUDA_VERSION");
  *version = text != nullptr ? std::atoi(text) : 13000;
  return 0;
}

int cuInit(unsigned /*flags*/) {
  return kNoDevice;
}

int cuGetProcAddress_v2(const char* symbol, void** function, int /*version*/, uint64_t /*flags*/,
                        int* found) {
  *function = reinterpret_cast<void*>(NoDevice);
  if (std::string_view(symbol) == "cuDriverGetVersion") {
    *function = reinterpret_cast<void*>(cuDriverGetVersion);
  } else if (std::string_view(symbol) == "cuGetProcAddress") {
    *function = reinterpret_cast<void*>(cuGetProcAddress_v2);
  }
  if (found != nullptr) *found = 0;
  return 0;
}
}
