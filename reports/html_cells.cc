#include "reports/html_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "reports/divergence.h"
#include "reports/uniqueness.h"

namespace detcheck {
namespace {

using Places = std::map<std::pair<int, int>, int>;  // (record, item): index of the sample.

Places PlacesOf(const std::vector<Sample>& samples) {
  Places places;
  for (size_t i = 0; i < samples.size(); ++i) {
    places[{samples[i].ref.record, samples[i].ref.item}] = static_cast<int>(i);
  }
  return places;
}

int IndexOf(const Places& places, const SampleRef& ref) {
  const auto found = places.find({ref.record, ref.item});
  return found == places.end() ? -1 : found->second;
}

// The reference's output and trace come first, then those of the most samples.
void Sort(const std::pair<int, int>& reference, const Classes& outputs,
          std::vector<HtmlVariant>* variants) {
  const auto rank = [&](const HtmlVariant& variant) {
    return std::tuple(variant.output != reference.first, -outputs.counts[variant.output],
                      variant.output, variant.trace != reference.second,
                      -std::ssize(variant.samples));
  };
  std::stable_sort(variants->begin(), variants->end(),
                   [&](const HtmlVariant& a, const HtmlVariant& b) { return rank(a) < rank(b); });
}

void Group(HtmlCell* cell) {
  const Classes outputs = ClassifyOutputs(cell->samples);
  const Classes traces = ClassifyTraces(cell->samples);
  const auto key_of = [&](int sample) {
    return std::pair(outputs.of_sample[sample], traces.of_sample[sample]);
  };
  std::map<std::pair<int, int>, HtmlVariant> groups;
  for (int sample = 0; sample < std::ssize(cell->samples); ++sample) {
    HtmlVariant& variant = groups[key_of(sample)];
    std::tie(variant.output, variant.trace) = key_of(sample);
    if (variant.samples.empty() ||
        (cell->samples[variant.first].IsPrefix() && !cell->samples[sample].IsPrefix())) {
      variant.first = sample;
    }
    variant.samples.push_back(sample);
  }
  cell->variants.reserve(groups.size());
  for (auto& [key, variant] : groups) cell->variants.push_back(std::move(variant));
  Sort(key_of(cell->reference), outputs, &cell->variants);
  cell->variants.front().first = cell->reference;
}

void AddDivergences(const Report& report, const Places& places, HtmlCell* cell) {
  std::vector<const Divergence*> judged(cell->samples.size());
  for (const Divergence& divergence : cell->judgement->divergences) {
    const int sample = IndexOf(places, divergence.actual);
    if (sample >= 0) judged[sample] = &divergence;
  }
  const int prompt_len = PromptLen(report.plan.requests[cell->judgement->request]);
  for (auto variant = cell->variants.begin() + 1; variant != cell->variants.end(); ++variant) {
    Divergence divergence =
        Compare(cell->samples[cell->reference], cell->samples[variant->first], prompt_len);
    divergence.cause = Cause::kNone;
    for (const int sample : variant->samples) {
      if (judged[sample] != nullptr) divergence.cause = judged[sample]->cause;
    }
    variant->divergence = divergence;
  }
}

std::string Letters(size_t number) {
  std::string letters;
  for (size_t rest = number + 1; rest > 0; rest = (rest - 1) / 26) {
    letters.insert(letters.begin(), static_cast<char>('A' + (rest - 1) % 26));
  }
  return letters;
}

}  // namespace

std::vector<HtmlCell> CollectCells(const Report& report) {
  std::vector<HtmlCell> cells;
  for (const ModeJudgement& mode : report.judgement.modes) {
    if (mode.requests.empty()) continue;
    std::map<int, RequestSamples> by_request;
    for (RequestSamples& samples :
         CollectSamples(report.plan, report.transcript, mode.mode, mode.replica)) {
      by_request[samples.request] = std::move(samples);
    }
    for (const RequestJudgement& request : mode.requests) {
      HtmlCell cell;
      cell.judgement = &request;
      cell.samples = std::move(by_request[request.request].samples);
      const Places places = PlacesOf(cell.samples);
      cell.reference = request.reference ? IndexOf(places, *request.reference) : -1;
      if (cell.reference < 0) continue;
      Group(&cell);
      AddDivergences(report, places, &cell);
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::vector<std::string> NamesOfVariants(const HtmlCell& cell) {
  std::map<int, int> num_traces;
  for (const HtmlVariant& variant : cell.variants) ++num_traces[variant.output];
  std::vector<std::string> names;
  std::map<int, std::pair<size_t, int>> seen;  // Output: its number, its traces so far.
  for (const HtmlVariant& variant : cell.variants) {
    const auto it = seen.try_emplace(variant.output, seen.size(), 0).first;
    std::string name = Letters(it->second.first);
    ++it->second.second;
    if (num_traces[variant.output] > 1) name += fmt::format("{}", it->second.second);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace detcheck
