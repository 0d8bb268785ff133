#include "reports/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

/// From which field of the subject a feature's use is read.
struct FeatureField {
  std::string_view feature;
  std::string_view field;
};

constexpr auto kSwitches = std::to_array<FeatureField>({
    {"deterministic_mode", "engine.mode"},
    {"chunked_prefill", "engine.chunked_prefill_size"},
    {"cuda_graph", "engine.cuda_graph"},
    {"radix_cache", "engine.radix_cache"},
    {"speculative_decoding", "engine.speculative_decoding"},
});

constexpr auto kSizes = std::to_array<FeatureField>({
    {"tensor_parallelism", "parallelism.tp_size"},
    {"pipeline_parallelism", "parallelism.pp_size"},
    {"data_parallelism", "parallelism.dp_size"},
    {"expert_parallelism", "parallelism.ep_size"},
});

constexpr std::array<std::string_view, 6> kOffWords = {"off",     "false", "none",
                                                       "default", "-1",    "0"};

template <typename Table>
std::string_view FieldOf(const Table& table, std::string_view feature) {
  for (const FeatureField& entry : table) {
    if (entry.feature == feature) return entry.field;
  }
  return "";
}

/// The size of a kind of parallelism; 0: not known.
int SizeOf(const Manifest& subject, std::string_view feature) {
  const std::string text = FieldValue(subject, FieldOf(kSizes, feature));
  int size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  return error == std::errc() && end == text.data() + text.size() ? size : 0;
}

FeatureUse UseOf(const Manifest& subject, bool non_greedy, std::string_view feature) {
  if (feature == "non_greedy_sampling") return non_greedy ? FeatureUse::kOn : FeatureUse::kOff;
  if (!FieldOf(kSizes, feature).empty()) {
    const int size = SizeOf(subject, feature);
    return size == 0 ? FeatureUse::kUnknown : size > 1 ? FeatureUse::kOn : FeatureUse::kOff;
  }
  const std::string value = FieldValue(subject, FieldOf(kSwitches, feature));
  if (value.empty()) return FeatureUse::kUnknown;
  const bool is_off = std::find(kOffWords.begin(), kOffWords.end(), value) != kOffWords.end();
  return is_off ? FeatureUse::kOff : FeatureUse::kOn;
}

const SupportRow* FindRow(const SupportRange& range, std::string_view backend) {
  for (const SupportRow& row : range.rows) {
    if (!backend.empty() && row.attention_backend == backend) return &row;
  }
  for (const SupportRow& row : range.rows) {
    if (row.attention_backend == "*") return &row;
  }
  return nullptr;
}

FeatureFinding FindFeature(const Manifest& subject, bool non_greedy, const SupportRow& row,
                           std::string_view feature) {
  FeatureFinding finding;
  finding.feature = feature;
  finding.use = UseOf(subject, non_greedy, feature);
  for (const SupportStatement& statement : row.statements) {
    if (statement.feature != feature) continue;
    finding.answer = statement.answer;
    finding.sources = statement.sources;
    finding.note = statement.note;
    if (statement.up_to > 0 && SizeOf(subject, feature) > statement.up_to) {
      finding.answer = SupportAnswer::kDocumentedUnsupported;
    }
  }
  return finding;
}

/// Builds a finding; every way out says why.
class Lookup {
 public:
  Lookup(const Manifest& subject, bool non_greedy, const SupportTable* table)
      : subject_(subject), non_greedy_(non_greedy), table_(table) {
    finding_.engine = FieldValue(subject, "engine.name");
    finding_.version = FieldValue(subject, "engine.version");
    finding_.attention_backend = FieldValue(subject, "engine.attention_backend");
  }

  SupportFinding Run() {
    if (finding_.engine.empty()) return Nothing("the engine is not known");
    if (table_ == nullptr) return Nothing("there is no support table of this engine");
    const SupportRange* range = FindRange(*table_, finding_.version);
    if (range == nullptr) {
      return Nothing(finding_.version.empty() ? "the release is not known"
                                              : "nothing is documented of this release");
    }
    finding_.releases = RangeInWords(*range);
    if (UseOf(subject_, non_greedy_, "deterministic_mode") == FeatureUse::kOff) {
      return FromStatement(range->default_mode, "the deterministic mode is off");
    }
    const SupportRow* row = FindRow(*range, finding_.attention_backend);
    if (row == nullptr && finding_.attention_backend.empty()) {
      return Nothing("the attention backend is not known");
    }
    if (row == nullptr) {
      return FromStatement(range->other_backends, "not an attention backend that is named");
    }
    LookUpFeatures(*row);
    return Cite();
  }

 private:
  SupportFinding Nothing(const std::string& reason) {
    finding_.answer = SupportAnswer::kUndocumented;
    finding_.reason = reason;
    return finding_;
  }

  SupportFinding FromStatement(const SupportStatement& statement, const std::string& reason) {
    finding_.answer = statement.answer;
    finding_.reason = reason;
    if (!statement.note.empty()) finding_.reason += ": " + statement.note;
    cited_.insert(statement.sources.begin(), statement.sources.end());
    return Cite();
  }

  void LookUpFeatures(const SupportRow& row) {
    std::vector<std::string> unsupported;
    std::vector<std::string> silent;
    for (const SupportFeature& feature : SupportFeatures()) {
      if (!feature.varies) continue;
      FeatureFinding found = FindFeature(subject_, non_greedy_, row, feature.name);
      cited_.insert(found.sources.begin(), found.sources.end());
      const bool is_documented = found.answer == SupportAnswer::kDocumented;
      if (found.use == FeatureUse::kUnknown && !is_documented) {
        silent.push_back(found.feature + " (not known whether on)");
      } else if (found.use == FeatureUse::kOn && !is_documented) {
        (found.answer == SupportAnswer::kUndocumented ? silent : unsupported)
            .push_back(found.feature);
      }
      finding_.features.push_back(std::move(found));
    }
    finding_.answer = SupportAnswer::kDocumented;
    if (!unsupported.empty()) {
      finding_.answer = SupportAnswer::kDocumentedUnsupported;
      finding_.reason = fmt::format("{}", fmt::join(unsupported, ", "));
    } else if (!silent.empty()) {
      finding_.answer = SupportAnswer::kUndocumented;
      finding_.reason = fmt::format("nothing is said of {}", fmt::join(silent, ", "));
    }
  }

  SupportFinding Cite() {
    for (const SupportSource& source : table_->sources) {
      if (cited_.contains(source.id)) finding_.sources.push_back(source);
    }
    return finding_;
  }

  const Manifest& subject_;
  bool non_greedy_;
  const SupportTable* table_;
  SupportFinding finding_;
  std::set<std::string> cited_;
};

}  // namespace

SupportFinding LookUpSupport(const Manifest& subject, bool non_greedy, const SupportTable* table) {
  return Lookup(subject, non_greedy, table).Run();
}

bool SamplesNonGreedily(const Plan& plan) {
  return std::any_of(plan.requests.begin(), plan.requests.end(), [](const PlannedRequest& request) {
    return request.sampling.temperature > 0.0;
  });
}

std::string SupportInWords(const SupportFinding& finding) {
  std::string words = fmt::format("{}: {}", ToString(finding.answer),
                                  finding.engine.empty() ? "engine not known" : finding.engine);
  if (!finding.version.empty()) words += " " + finding.version;
  if (!finding.attention_backend.empty()) words += " with " + finding.attention_backend;
  if (!finding.releases.empty()) words += fmt::format(" ({})", finding.releases);
  if (!finding.reason.empty()) words += "; " + finding.reason;
  return words;
}

}  // namespace detcheck
