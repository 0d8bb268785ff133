#pragma once

#include <string>

#include "engine/embedded/device.h"
#include "engine/embedded/options.h"

namespace detcheck {

/// How far an engine's log-softmax is from a float32 reference, in nats, over its 32 largest logits
/// at each position of tests/embedded/reference/NAME.json.
struct LogitDistance {
  double rms = 0.0;
  double largest = 0.0;
  int num_compared = 0;
  int num_unknown = 0;    ///< Candidates that are not among the reference's 128 largest.
  double bf16_rms = 0.0;  ///< Of PyTorch's own bf16 run: what rounding to bf16 explains.
  double bf16_largest = 0.0;
};

/// `name`: "tiny" or "tiny-qwen3"; the options' model is set to it.
LogitDistance DistanceToReference(const std::string& name, const EngineDevice& device,
                                  EngineOptions options);

}  // namespace detcheck
