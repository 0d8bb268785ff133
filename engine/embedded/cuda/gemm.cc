#include "engine/embedded/cuda/gemm.h"

#include "engine/embedded/cuda/gemm_default.h"
#include "engine/embedded/cuda/gemm_deterministic.h"

namespace detcheck::cuda {

std::unique_ptr<Gemm> MakeGemm(bool deterministic) {
  return deterministic ? MakeDeterministicGemm() : MakeDefaultGemm();
}

}  // namespace detcheck::cuda
