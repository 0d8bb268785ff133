#pragma once

#include <vector>

#include "engine/embedded/model_config.h"

namespace detcheck::cpu {

/// RopeInvFreq of a model's configuration, with its scaling: [E / 2].
std::vector<double> RopeFrequencies(const ModelConfig& config);

}  // namespace detcheck::cpu
