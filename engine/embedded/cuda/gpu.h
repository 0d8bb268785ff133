#pragma once

#include <string>

#include "engine/backend.h"

namespace detcheck::cuda {

/// Name of the GPU that would be used, device 0; empty, with the reason in `why_not`, where none
/// works: no driver, no device, compute capability below 8.0.
std::string FindGpu(std::string* why_not);

/// Name, compute capability, multiprocessors, memory, clocks, driver and runtime of device 0, as
/// manifest fields under "device." and "libraries.". Errors: Error(kDevice).
Manifest DescribeGpu();

}  // namespace detcheck::cuda
