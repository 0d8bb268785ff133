#include "engine/base/support.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace detcheck {
namespace {

constexpr auto kFeatures = std::to_array<SupportFeature>({
    {"deterministic_mode", "deterministic mode", true},
    {"continuous_batching", "continuous batching", false},
    {"chunked_prefill", "chunked prefill", true},
    {"cuda_graph", "CUDA graph", true},
    {"radix_cache", "radix (prefix) cache", true},
    {"non_greedy_sampling", "non-greedy sampling", true},
    {"logprobs", "logprobs", false},
    {"preemption", "preemption", false},
    {"speculative_decoding", "speculative decoding", true},
    {"tensor_parallelism", "tensor parallelism", true},
    {"pipeline_parallelism", "pipeline parallelism", true},
    {"data_parallelism", "data parallelism", true},
    {"expert_parallelism", "expert parallelism", true},
});

// The numbers of a release; ends at what is no number between dots, but takes ".post1" along.
std::vector<int64_t> NumbersOf(std::string_view release) {
  constexpr std::string_view kPost = "post";
  std::vector<int64_t> numbers;
  size_t at = release.starts_with('v') ? 1 : 0;
  while (at < release.size()) {
    if (release.substr(at).starts_with(kPost)) at += kPost.size();
    const size_t begin = at;
    int64_t number = 0;
    while (at < release.size() && std::isdigit(static_cast<unsigned char>(release[at])) &&
           at - begin < 9) {
      number = 10 * number + (release[at++] - '0');
    }
    if (at == begin) break;
    numbers.push_back(number);
    if (at == release.size() || release[at] != '.') break;
    ++at;
  }
  return numbers;
}

}  // namespace

std::string_view ToString(SupportAnswer answer) {
  switch (answer) {
    case SupportAnswer::kDocumented:
      return "documented";
    case SupportAnswer::kDocumentedUnsupported:
      return "documented_unsupported";
    case SupportAnswer::kUndocumented:
      return "undocumented";
  }
  return "";
}

std::span<const SupportFeature> SupportFeatures() {
  return kFeatures;
}

int CompareReleases(std::string_view a, std::string_view b) {
  std::vector<int64_t> x = NumbersOf(a);
  std::vector<int64_t> y = NumbersOf(b);
  x.resize(std::max(x.size(), y.size()));
  y.resize(x.size());
  if (x == y) return 0;
  return x < y ? -1 : 1;
}

const SupportRange* FindRange(const SupportTable& table, std::string_view release) {
  if (NumbersOf(release).empty()) return nullptr;
  for (const SupportRange& range : table.releases) {
    if (CompareReleases(release, range.from) < 0) continue;
    if (range.before.empty() || CompareReleases(release, range.before) < 0) return &range;
  }
  return nullptr;
}

std::string RangeInWords(const SupportRange& range) {
  return range.before.empty() ? range.from + " and later"
                              : range.from + " to before " + range.before;
}

}  // namespace detcheck
