#pragma once

#include "cli/option_adder.h"
#include "engine/backend.h"

namespace detcheck {

/// The combination that `support` looks up; what is not given is not known.
struct SupportQuery {
  Manifest declared;  ///< Fields of a subject; engine.mode only where default mode was asked for.
  bool non_greedy = false;
  bool is_combination = false;  ///< Anything but the engine and its release was given.
  bool json = false;
};

/// Both must outlive the parsing.
void AddSupportOptions(OptionAdder* add, SupportQuery* query);

}  // namespace detcheck
