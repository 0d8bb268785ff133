#pragma once

#include <optional>
#include <string>

#include "engine/embedded/device.h"

namespace detcheck {

/// The CUDA engine's device, loaded from its shared object when first asked for and kept for the
/// process's life. Absent where it cannot start here; `why_not` then says so in a few words: not
/// built, its libraries are missing, no driver, no device, too old a GPU.
std::optional<EngineDevice> FindCudaDevice(std::string* why_not);

}  // namespace detcheck
