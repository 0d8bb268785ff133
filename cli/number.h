#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace detcheck {

// Numbers of the command line, read strictly: the whole text must be the number. `option` begins
// the message of the Error(kUsage) that anything else throws: "--n-trials x: not a whole number
// from 1 to 100000".

int64_t ParseWhole(const std::string& option, const std::string& text, int64_t low, int64_t high);

/// Whole numbers between commas; at least one.
std::vector<int> ParseWholeList(const std::string& option, const std::string& text, int low,
                                int high);

/// A finite number in [low, high].
double ParseReal(const std::string& option, const std::string& text, double low, double high);

}  // namespace detcheck
