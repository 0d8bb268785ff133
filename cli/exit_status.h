#pragma once

#include "engine/base/error.h"

namespace detcheck {

/// What the process says to its caller; the same whatever the output format.
enum class ExitStatus {
  kPass = 0,
  kDivergence = 1,    ///< Nondeterminism was found.
  kUsage = 2,         ///< The command line, or a file that was given, is wrong.
  kInconclusive = 3,  ///< Inconclusive or unsupported, or nothing was run.
  kUnfinished = 4,    ///< Target unreachable, device error, timeout.
  kInterrupted = 130,
};

constexpr ExitStatus ExitStatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kInput:
      return ExitStatus::kUsage;
    case ErrorCode::kUnsupported:
      return ExitStatus::kInconclusive;
    case ErrorCode::kInterrupted:
      return ExitStatus::kInterrupted;
    case ErrorCode::kTarget:
    case ErrorCode::kDevice:
    case ErrorCode::kInternal:
      break;
  }
  return ExitStatus::kUnfinished;
}

}  // namespace detcheck
