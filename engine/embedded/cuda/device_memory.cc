#include "engine/embedded/cuda/device_memory.h"

#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

std::string Mib(size_t num_bytes) {
  return std::to_string((num_bytes + (size_t{1} << 20) - 1) >> 20);
}

[[noreturn]] void ThrowOutOfDeviceMemory(size_t num_bytes) {
  size_t free_bytes = 0, total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  cudaGetLastError();  // That of cudaMalloc is told here.
  throw Error(ErrorCode::kDevice, "CUDA: out of device memory: " + Mib(num_bytes) +
                                      " MiB asked for, " + Mib(free_bytes) + " of " +
                                      Mib(total_bytes) + " MiB free");
}

}  // namespace

DeviceBuffer::DeviceBuffer(size_t num_bytes) : num_bytes_(num_bytes) {
  if (num_bytes == 0) return;
  const cudaError_t status = cudaMalloc(&data_, num_bytes);
  if (status == cudaErrorMemoryAllocation) ThrowOutOfDeviceMemory(num_bytes);
  CheckStatus(status, "cudaMalloc");
}

DeviceBuffer::~DeviceBuffer() {
  cudaFree(data_);
}

PinnedBuffer::PinnedBuffer(size_t num_bytes) {
  if (num_bytes > 0) DETCHECK_CUDA(cudaMallocHost(&data_, num_bytes));
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

Stream::Stream() {
  DETCHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

void Stream::Synchronize() const {
  DETCHECK_CUDA(cudaStreamSynchronize(stream_));
}

Event::Event() {
  DETCHECK_CUDA(cudaEventCreate(&event_));
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::Record(cudaStream_t stream) {
  DETCHECK_CUDA(cudaEventRecord(event_, stream));
}

void Event::Synchronize() const {
  DETCHECK_CUDA(cudaEventSynchronize(event_));
}

float Event::MillisecondsSince(const Event& begin) const {
  float ms = 0;
  DETCHECK_CUDA(cudaEventElapsedTime(&ms, begin.event_, event_));
  return ms;
}

}  // namespace detcheck::cuda
