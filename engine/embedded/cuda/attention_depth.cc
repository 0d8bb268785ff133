#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention_flash.h"

namespace detcheck::cuda::flash {

Depth DeepestThatFits(int (*shared_bytes)(int head_dim, Depth depth), int head_dim,
                      int most_bytes) {
  for (const Depth depth : {Depth::kDeep, Depth::kShallow}) {
    if (shared_bytes(head_dim, depth) <= most_bytes) return depth;
  }
  throw Error(ErrorCode::kUnsupported,
              "attention backend flash: head_dim " + std::to_string(head_dim) + " needs " +
                  std::to_string(shared_bytes(head_dim, Depth::kShallow)) +
                  " bytes of shared memory for a block of threads, this GPU has " +
                  std::to_string(most_bytes) + "; --attention-backend reference needs few");
}

PrefillLauncher PreparePrefill(int head_dim, int most_shared_bytes) {
  const PrefillLauncher wgmma = PrepareWgmmaPrefill(head_dim, most_shared_bytes);
  if (wgmma != nullptr) return wgmma;
  return PrepareMmaPrefill(head_dim,
                           DeepestThatFits(MmaPrefillSharedBytes, head_dim, most_shared_bytes));
}

}  // namespace detcheck::cuda::flash
