#pragma once

#include <string>

#include "fixtures/protocol.h"

namespace detcheck {

/// The protocol of the text `json` in the file `path`, with its criterion's schema, and with the
/// files that it names found from its folder and their digests. Throws Error(kInput), "PATH: place:
/// fact".
Protocol OpenProtocol(const std::string& json, const std::string& path);

}  // namespace detcheck
