#pragma once

#include <string>

#include "engine/backend.h"

namespace detcheck {

/// Digest of what the target says it is, whatever the order of the fields. Read before and after a
/// run: a change means that two different things were tested.
std::string IdentityDigest(const Manifest& subject);

}  // namespace detcheck
