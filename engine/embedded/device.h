#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/embedded/ops.h"

namespace detcheck {

/// Makes the Ops that an engine computes with.
using OpsFactory = std::function<std::unique_ptr<Ops>(const ModelConfig&, const EngineOptions&,
                                                      const StepCapacity&)>;

/// What an engine computes on.
struct EngineDevice {
  std::string name;  ///< "cpu" or "cuda".
  OpsFactory make_ops;
  std::string default_attention_backend;
  /// Of a KV pool whose size is not asked for.
  int64_t most_kv_bytes = int64_t{2} << 30;
  /// Of the logits that are computed at once for scores.
  int64_t most_score_logits_bytes = int64_t{64} << 20;
};

/// The options as the device is to be given them: its own attention backend for "auto".
inline EngineOptions ForDevice(const EngineDevice& device, EngineOptions options) {
  if (options.attention_backend == "auto") {
    options.attention_backend = device.default_attention_backend;
  }
  return options;
}

/// The processor of this machine.
EngineDevice CpuDevice();

}  // namespace detcheck
