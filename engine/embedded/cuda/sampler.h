#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/ops.h"

namespace detcheck::cuda {

/// Turns rows of float32 logits on the device into tokens and logprobs. A row's result is a
/// function of the row and of how it is asked for, and of nothing else. Throws Error(kUnsupported)
/// for more than 1000 candidates, and Error(kInternal) for more rows than there is room for.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// One token for each row of logits [rows.size(), V]; waits for the stream. The rules are those
  /// of cpu::SampleRow: same filters, ranking, noise and ties.
  virtual std::vector<SampledToken> Sample(const float* logits, std::span<const RowSampling> rows,
                                           cudaStream_t stream) = 0;

  /// log-softmax of row i at targets[i] and of its `num_top` largest logits, ties by lowest id.
  virtual std::vector<TokenLogprob> Score(const float* logits, std::span<const TokenId> targets,
                                          int num_top, cudaStream_t stream) = 0;
};

/// For at most `max_rows` rows at once of `vocab_size` logits; allocates nothing later.
std::unique_ptr<Sampler> MakeSampler(int max_rows, int vocab_size);

}  // namespace detcheck::cuda
