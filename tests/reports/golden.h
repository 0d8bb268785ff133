#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "fixtures/file_io.h"

namespace detcheck {

/// Expects `text` to be what the file `name` of the golden folder holds. Where it is meant to
/// change, the test binary writes it anew with DETCHECK_UPDATE_GOLDEN=1 in its environment.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(DETCHECK_GOLDEN_DIR) + '/' + name;
  if (std::getenv("DETCHECK_UPDATE_GOLDEN") != nullptr) WriteFileAtomically(path, text);
  EXPECT_EQ(text, ReadFile(path)) << name;
}

}  // namespace detcheck
