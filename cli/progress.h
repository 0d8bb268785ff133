#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/runner.h"
#include "fixtures/plan.h"

namespace detcheck {

/// Shows how far a run is: a bar with the time left on a terminal, a line per tenth elsewhere.
class Progress : public RunObserver {
 public:
  /// Both must outlive it. Nothing is shown where `out` is null.
  Progress(const Plan& plan, const std::vector<int>& order, std::FILE* out);
  ~Progress() override;  ///< Wipes the bar.

  void OnStepStarted(int step) override;
  void OnTokens(int num_tokens) override;
  void OnStepEnded(int step) override;

 private:
  void Show(int64_t done, bool at_once);
  void ShowBar(double fraction, double elapsed_s);
  void ShowTenth(double fraction, double elapsed_s);
  void Write(const std::string& text);

  const Plan& plan_;
  std::FILE* out_;
  bool is_terminal_ = false;
  bool has_bar_ = false;
  int num_steps_ = 0;  // to run
  int num_steps_done_ = 0;
  int step_ = 0;
  int64_t total_ = 0;  // work units, about one for each token
  int64_t done_ = 0;   // of the steps that have ended
  int tenths_shown_ = 0;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace detcheck
