#include "engine/remote/prometheus.h"

#include <algorithm>
#include <charconv>

namespace detcheck {
namespace {

/// Where the braces that open at `open` close; labels may hold '}' between quotes.
size_t ClosingBrace(std::string_view line, size_t open) {
  bool quoted = false;
  for (size_t i = open + 1; i < line.size(); ++i) {
    if (line[i] == '\\' && quoted) {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '}' && !quoted) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::optional<MetricSample> ReadLine(std::string_view line) {
  if (line.empty() || line[0] == '#') return std::nullopt;
  const size_t name_end = line.find_first_of("{ \t");
  if (name_end == std::string_view::npos) return std::nullopt;
  MetricSample sample;
  sample.name = line.substr(0, name_end);
  size_t at = name_end;
  if (line[at] == '{') {
    const size_t close = ClosingBrace(line, at);
    if (close == std::string_view::npos) return std::nullopt;
    sample.labels = line.substr(at + 1, close - at - 1);
    at = close + 1;
  }
  at = line.find_first_not_of(" \t", at);
  if (at == std::string_view::npos) return std::nullopt;
  const auto [end, error] =
      std::from_chars(line.data() + at, line.data() + line.size(), sample.value);
  if (error != std::errc()) return std::nullopt;
  return sample;
}

}  // namespace

std::string MetricSample::Label(std::string_view label) const {
  const std::string key = std::string(label) + "=\"";
  size_t at = 0;
  while ((at = labels.find(key, at)) != std::string::npos) {
    const bool whole = at == 0 || labels[at - 1] == ',' || labels[at - 1] == ' ';
    at += key.size();
    if (!whole) continue;
    return labels.substr(at, labels.find('"', at) - at);
  }
  return "";
}

Metrics::Metrics(std::string_view page) {
  while (!page.empty()) {
    const size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (auto sample = ReadLine(line)) samples_.push_back(std::move(*sample));
    page.remove_prefix(std::min(end + 1, page.size()));
  }
}

const MetricSample* Metrics::Find(std::string_view name) const {
  const auto it = std::find_if(samples_.begin(), samples_.end(),
                               [&](const MetricSample& sample) { return sample.name == name; });
  return it == samples_.end() ? nullptr : &*it;
}

std::optional<double> Metrics::Sum(std::string_view name) const {
  std::optional<double> sum;
  for (const MetricSample& sample : samples_) {
    if (sample.name == name) sum = sum.value_or(0.0) + sample.value;
  }
  return sum;
}

std::optional<double> Metrics::Max(std::string_view name) const {
  std::optional<double> most;
  for (const MetricSample& sample : samples_) {
    if (sample.name == name) most = std::max(most.value_or(sample.value), sample.value);
  }
  return most;
}

}  // namespace detcheck
