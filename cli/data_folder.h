#pragma once

#include <string>

namespace detcheck {

/// The folder of shipped data `name` ("sets", "support"): share/detcheck/NAME beside the installed
/// program's folder, else fixtures/NAME of the checkout that was built.
std::string DataFolder(const std::string& name);

}  // namespace detcheck
