#include "engine/remote/fingerprints.h"

#include <fmt/format.h>

namespace detcheck {
namespace {

constexpr int kMostListed = 8;

}  // namespace

void Fingerprints::Note(const std::string& fingerprint) {
  if (fingerprint.empty() || fingerprint == last_) return;
  const bool is_first = last_.empty();
  last_ = fingerprint;
  if (!is_first) ++num_changes_;
  if (num_changes_ < kMostListed) listed_ += (is_first ? "" : " -> ") + fingerprint;
}

std::string Fingerprints::Text() const {
  if (num_changes_ < kMostListed) return listed_;
  return fmt::format("{} -> … ({} changes)", listed_, num_changes_);
}

}  // namespace detcheck
