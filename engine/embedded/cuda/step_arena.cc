#include "engine/embedded/cuda/step_arena.h"

#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {

StepArena::StepArena(size_t num_bytes)
    : host_(num_bytes), device_(num_bytes), num_bytes_(num_bytes) {}

void StepArena::BeginStep() {
  if (recorded_) copied_.Synchronize();
  recorded_ = false;
}

void StepArena::EndUploads(cudaStream_t stream) {
  copied_.Record(stream);
  recorded_ = true;
}

size_t StepArena::Take(size_t num_bytes) {
  const size_t offset = taken_;
  taken_ += Padded(num_bytes);
  if (taken_ > num_bytes_) {
    throw Error(ErrorCode::kInternal, "step arena of " + std::to_string(num_bytes_) +
                                          " bytes: " + std::to_string(taken_) + " needed");
  }
  return offset;
}

void StepArena::Copy(void* to, const void* from, size_t num_bytes, cudaStream_t stream) {
  if (num_bytes == 0) return;
  DETCHECK_CUDA(cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyHostToDevice, stream));
}

}  // namespace detcheck::cuda
