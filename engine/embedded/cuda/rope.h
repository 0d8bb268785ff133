#pragma once

#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/row_kernels.h"
#include "engine/embedded/model_config.h"

namespace detcheck::cuda {

/// Angles of every position of a model's context on the device: the CPU engine's own float32
/// values.
class Rope {
 public:
  explicit Rope(const ModelConfig& config);

  RopeTables tables() const { return {cos_.as<float>(), sin_.as<float>()}; }

 private:
  DeviceBuffer cos_;
  DeviceBuffer sin_;
};

}  // namespace detcheck::cuda
