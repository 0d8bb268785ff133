#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"

namespace detcheck {

/// `action` must throw Error with this code and exactly this message.
template <typename Action>
void ExpectError(ErrorCode code, const std::string& message, Action action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), message);
    EXPECT_EQ(error.code(), code);
  }
}

}  // namespace detcheck
