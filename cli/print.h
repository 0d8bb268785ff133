#pragma once

#include <string_view>

namespace detcheck {

/// Adds to the result, on stdout. A failure is kept for FlushStdout.
void PrintResult(std::string_view text);

/// Whether all of the result was written. A reader that closed its end has had what it wanted, and
/// counts as success.
bool FlushStdout();

/// One line, or a few, for the person who watches, on stderr.
void PrintNote(std::string_view text);

}  // namespace detcheck
