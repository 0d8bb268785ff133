#pragma once

#include <stdexcept>
#include <string>

namespace detcheck {

/// Why something could not be carried out. A failed check is a verdict, never an Error.
enum class ErrorCode {
  kUsage,        ///< The command line is wrong. Exit code 2.
  kInput,        ///< A file that was given is wrong. Exit code 2.
  kUnsupported,  ///< The target cannot do what was asked. Exit code 3.
  kTarget,       ///< The target failed, was unreachable or timed out. Exit code 4.
  kDevice,       ///< No such device, out of memory, or the device failed. Exit code 4.
  kInterrupted,  ///< The user asked to stop. Exit code 130.
  kInternal,     ///< A bug in detcheck. Exit code 4.
};

/// Thrown for anything that could not be carried out; caught in the runner and in main.
class Error : public std::runtime_error {
 public:
  /// `message` is one line: on what, where in it, and the fact; no trailing newline.
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace detcheck
