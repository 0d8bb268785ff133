#pragma once

#include <vector>

#include "engine/base/support.h"

namespace detcheck {

/// The tables of the engines that are part of detcheck, made from what they can do.
std::vector<SupportTable> OwnSupportTables();

}  // namespace detcheck
