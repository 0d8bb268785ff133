#pragma once

#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/ops.h"

namespace detcheck::cpu {

/// A row of float32 logits: `values[id]` for each of `vocab_size` ids, owned by the caller.
struct LogitRow {
  const float* values = nullptr;
  int vocab_size = 0;
};

/// Draws a token from one row, with its logprobs where they are asked for. A function of the row
/// and of `how` alone: the same on every machine, whatever the other rows of the batch are.
///
/// Temperature 0: the largest logit, ties to the lowest id.
///
/// Temperature t > 0: weight w = exp((x - max) / t), then three filters, each over what the one
/// before it kept. Tokens are ranked by logit, largest first, ties by lowest id.
///   top_k  keeps the first k of the ranking.
///   top_p  keeps the shortest prefix of the ranking whose sum of weights is at least top_p times
///          the sum of all weights kept so far (added in ascending id order).
///   min_p  keeps the tokens with w >= min_p; the largest weight is 1.
/// The token is the one with the least e / w, e = -log(u) exponentially distributed, ties to the
/// lowest id: the Gumbel-max rule (largest log w - log e) without its second logarithm. u is made
/// of 52 bits of Philox4x32-10 with key `seed` and counter (position low, position high, id, 0).
///
/// Tokens whose logit is NaN or whose weight is 0 are never drawn at temperature > 0; where none is
/// left the largest logit is taken, and id 0 where all are NaN.
SampledToken SampleRow(const KernelTable& kernels, const LogitRow& row, const RowSampling& how);

/// log-softmax of the raw logits at `id`, and of the `num_top` largest logits (fewer where the
/// vocabulary is smaller or logits are NaN), ties by lowest id. float32 values, widened.
/// Order: exponentials element by element, their sum in double over 16 lanes.
TokenLogprob LogprobOfRow(const KernelTable& kernels, const LogitRow& row, TokenId id, int num_top);

}  // namespace detcheck::cpu
