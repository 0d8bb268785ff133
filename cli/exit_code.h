#pragma once

#include "engine/base/error.h"

namespace detcheck {

/// What the process says to its caller; the same whatever the output format.
enum class ExitCode {
  kPass = 0,
  kDivergence = 1,    ///< Nondeterminism was found.
  kUsage = 2,         ///< The command line, or a file that was given, is wrong.
  kInconclusive = 3,  ///< Inconclusive or unsupported, or nothing was run.
  kUnfinished = 4,    ///< Target unreachable, device error, timeout.
  kInterrupted = 130,
};

constexpr ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kInput:
      return ExitCode::kUsage;
    case ErrorCode::kUnsupported:
      return ExitCode::kInconclusive;
    case ErrorCode::kInterrupted:
      return ExitCode::kInterrupted;
    case ErrorCode::kTarget:
    case ErrorCode::kDevice:
    case ErrorCode::kInternal:
      break;
  }
  return ExitCode::kUnfinished;
}

}  // namespace detcheck
