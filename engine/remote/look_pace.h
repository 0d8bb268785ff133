#pragma once

#include <optional>

namespace detcheck {

/// How often a server's counters are looked at while a batch runs. A look costs the server as much
/// as its fastest one took (the others waited, too: for an engine step, for a connection), and all
/// of them shall cost it no more than an eighth of its time.
class LookPace {
 public:
  /// A look was answered after so long.
  void Note(double look_s);

  /// From one answer to the next look: at least 1 ms, at most 0.25 s.
  double pause_s() const;

 private:
  std::optional<double> fastest_s_;
};

}  // namespace detcheck
