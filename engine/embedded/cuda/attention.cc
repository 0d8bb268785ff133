#include "engine/embedded/cuda/attention.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention_backends.h"
#include "engine/embedded/cuda/attention_work.h"

namespace detcheck::cuda {

std::vector<std::string> AttentionBackendNames() {
  return {"flash", "reference"};
}

std::unique_ptr<Attention> MakeAttention(const std::string& name, bool deterministic,
                                         const AttentionShape& shape, const StepLimits& limits,
                                         const StepArrays& step, StepArena* arena,
                                         int most_shared_bytes) {
  if (name == "flash") {
    return MakeFlashAttention(deterministic, shape, limits, step, arena, most_shared_bytes);
  }
  if (name == "reference") return MakeReferenceAttention(shape, limits, step, arena);
  std::string names;
  for (const std::string& known : AttentionBackendNames()) {
    names += (names.empty() ? "" : ", ") + known;
  }
  throw Error(ErrorCode::kUsage, "attention backend '" + name + "': not one of " + names);
}

size_t AttentionArenaBytes(const AttentionShape& shape, const StepLimits& limits) {
  return std::max(FlashCapacity(shape, limits).arena_bytes(), ReferenceArenaBytes(limits));
}

}  // namespace detcheck::cuda
