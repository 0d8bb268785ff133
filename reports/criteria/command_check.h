#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "reports/criteria/text_check.h"

namespace detcheck {

/// Seconds after which a command that was given a text is killed.
inline constexpr double kCommandDeadlineS = 10.0;

/// The words of a command line: separated by blanks; between two ' or two " blanks and the other
/// quote stand for themselves, and quoted pieces join the word that they touch. There are no
/// escapes, variables or patterns. Throws Error(kUsage) for an open quote or no word.
std::vector<std::string> SplitCommand(const std::string& command);

/// Valid: the command ends with exit code 0, with the text on its standard input. It is found in
/// PATH and run without a shell; what it prints is discarded. A command that is killed, by the
/// deadline or otherwise, or cannot be started any more, leaves the text unknown; processes that it
/// leaves behind in its group are killed. Throws Error(kUsage) where there is no such program.
std::unique_ptr<TextCheck> MakeCommandCheck(const std::string& command, double deadline_s,
                                            const std::atomic<bool>& stop);

}  // namespace detcheck
