#pragma once

#include <string>
#include <vector>

#include "engine/embedded/safetensors.h"
#include "engine/embedded/weights.h"

namespace detcheck {

/// Weights of a Hugging Face model directory, mapped into memory.
class SafetensorsWeights : public WeightSource {
 public:
  /// Errors: those of SafetensorsDir.
  explicit SafetensorsWeights(const std::string& dir) : tensors_(dir) {}

  /// Tensors of dtype BF16, F16 and F32 can be read.
  void Read(const std::string& name, const std::vector<int64_t>& shape, DType dtype,
            void* out) override;

  /// "model.weights_sha256": SHA-256 of model.safetensors; of a sharded model that of the lines
  /// "<hex>  <file name>\n" that sha256sum writes for its files in order of name.
  Manifest Describe() override;

 private:
  SafetensorsDir tensors_;
};

}  // namespace detcheck
