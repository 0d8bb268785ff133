#pragma once

#include <memory>
#include <string>

#include "reports/criteria/text_check.h"

namespace detcheck {

/// Valid: `pattern`, a Perl-compatible regular expression (PCRE2, UTF-8), matches somewhere in the
/// text; \A and \z anchor it. A match that takes too long is unknown. Throws Error(kUsage) for a
/// pattern that is none.
std::unique_ptr<TextCheck> MakeRegexCheck(const std::string& pattern);

}  // namespace detcheck
