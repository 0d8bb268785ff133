#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace detcheck {
namespace {

constexpr int kBarCells = 24;
constexpr int kPromptTokensPerUnit = 8;  // prefill is that much cheaper than decoding, roughly
constexpr std::chrono::milliseconds kRefreshInterval(100);

int64_t WorkOf(const Plan& plan, const Step& step) {
  int64_t work = 1;
  for (const PlannedItem& item : step.items) {
    const PlannedRequest& request = plan.requests[item.request];
    work += item.abort_after_tokens.value_or(request.max_new_tokens);
    work += PromptLen(request) / kPromptTokensPerUnit;
  }
  return work;
}

size_t TerminalWidth(std::FILE* out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// "1:02:03", "4:05".
std::string Clock(double seconds) {
  const int64_t s = std::lround(seconds);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

Progress::Progress(const Plan& plan, const std::vector<int>& order, std::FILE* out)
    : plan_(plan), out_(out), num_steps_(static_cast<int>(order.size())) {
  for (const int step : order) total_ += WorkOf(plan, plan.steps[step]);
  is_terminal_ = out_ != nullptr && isatty(fileno(out_)) != 0;
}

Progress::~Progress() {
  if (!has_bar_) return;
  Write("\r\033[K");
}

void Progress::OnStepStarted(int step) {
  step_ = step;
  Show(done_, false);
}

void Progress::OnTokens(int num_tokens) {
  const int64_t most = WorkOf(plan_, plan_.steps[step_]);
  Show(done_ + std::min<int64_t>(num_tokens, most), false);
}

void Progress::OnStepEnded(int step) {
  done_ += WorkOf(plan_, plan_.steps[step]);
  ++num_steps_done_;
  Show(done_, num_steps_done_ == num_steps_);
}

void Progress::Show(int64_t done, bool at_once) {
  if (out_ == nullptr || total_ == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (!at_once && now - shown_ < kRefreshInterval) return;
  shown_ = now;
  const double fraction = static_cast<double>(done) / static_cast<double>(total_);
  const double elapsed_s = std::chrono::duration<double>(now - began_).count();
  is_terminal_ ? ShowBar(fraction, elapsed_s) : ShowTenth(fraction, elapsed_s);
}

void Progress::Write(const std::string& text) {
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
}

void Progress::ShowBar(double fraction, double elapsed_s) {
  const int cells = static_cast<int>(fraction * kBarCells);
  const std::string left =
      fraction > 0.01 ? Clock(elapsed_s * (1.0 - fraction) / fraction) + " left" : "";
  std::string line =
      fmt::format("[{}{}] {:3.0f} %  step {} of {}  {}  {}: {}", std::string(cells, '#'),
                  std::string(kBarCells - cells, '.'), fraction * 100.0,
                  std::min(num_steps_done_ + 1, num_steps_), num_steps_, left,
                  ToString(plan_.steps[step_].mode), plan_.steps[step_].label);
  line.resize(std::min(line.size(), TerminalWidth(out_) - 1));
  Write("\r" + line + "\033[K");
  has_bar_ = true;
}

void Progress::ShowTenth(double fraction, double elapsed_s) {
  const int tenths = static_cast<int>(fraction * 10.0 + 1e-9);
  if (tenths <= tenths_shown_) return;
  tenths_shown_ = tenths;
  Write(fmt::format("{:3} %  step {} of {}  {}\n", tenths * 10, num_steps_done_, num_steps_,
                    Clock(elapsed_s)));
}

}  // namespace detcheck
