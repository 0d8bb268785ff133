#pragma once

#include <memory>
#include <string>

#include "engine/embedded/model_config.h"
#include "engine/embedded/options.h"
#include "engine/embedded/weights.h"

namespace detcheck {

/// A model that has not been uploaded yet.
struct LoadedModel {
  ModelConfig config;  ///< Its dtype is options.dtype where that is given.
  std::unique_ptr<WeightSource> weights;
  std::string dir;  ///< The model's directory; empty for a synthetic model.
};

/// Opens options.model: "synthetic:NAME" (weights from options.random_seed), or a Hugging Face
/// directory (config.json, model.safetensors or model.safetensors.index.json). Throws
/// Error(kUsage) for an unknown synthetic name and Error(kInput) for a directory that is wrong.
LoadedModel LoadModel(const EngineOptions& options);

}  // namespace detcheck
