#pragma once

#include <string>

namespace detcheck {

/// What a server's answers call its weights or configuration, one after the other: whether it
/// changed, too.
class Fingerprints {
 public:
  /// An answer told it; empty: it did not.
  void Note(const std::string& fingerprint);

  /// "A", or "A -> B -> A" where it changed. The first changes are listed, of further ones the
  /// number: it never reads as before they came. Empty where none was told.
  std::string Text() const;

 private:
  std::string listed_;
  std::string last_;
  int num_changes_ = 0;
};

}  // namespace detcheck
