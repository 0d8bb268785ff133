#pragma once

#include <span>
#include <string_view>

#include "engine/backend.h"

namespace detcheck {

/// How the value of an environment variable looks. A value of any other look is not shown: it may
/// be a secret, a name or a path that was put there by mistake.
enum class VariableForm {
  kNumbers,    ///< Digits with , : . - between them, at most 64 characters.
  kWords,      ///< One of `words`, or several with commas between them; case does not matter.
  kFileNames,  ///< Paths of shared libraries, between colons or spaces: their last parts are shown.
};

/// A variable of the environment that the harness manifest may show.
struct AllowedVariable {
  std::string_view name;
  VariableForm form = VariableForm::kNumbers;
  std::string_view words;  ///< kWords: between spaces.
  std::string_view why;    ///< What it can change.
};

/// All of them. No other variable is ever read for a report.
std::span<const AllowedVariable> AllowedEnvironment();

/// "env.NAME" of each variable that is set, and "env.not_set", the names of the others.
Manifest EnvironmentFields();

}  // namespace detcheck
