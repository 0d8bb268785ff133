#pragma once

#include <memory>

#include "engine/embedded/cuda/attention.h"

/// The backends behind MakeAttention, with its arguments.
namespace detcheck::cuda {

std::unique_ptr<Attention> MakeFlashAttention(bool deterministic, const AttentionShape& shape,
                                              const StepLimits& limits, const StepArrays& step,
                                              StepArena* arena, int most_shared_bytes);

std::unique_ptr<Attention> MakeReferenceAttention(const AttentionShape& shape,
                                                  const StepLimits& limits, const StepArrays& step,
                                                  StepArena* arena);

/// Bytes of the arena that the reference backend reserves.
size_t ReferenceArenaBytes(const StepLimits& limits);

}  // namespace detcheck::cuda
