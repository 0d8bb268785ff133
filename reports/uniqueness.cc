#include "reports/uniqueness.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "reports/token_identity.h"

namespace detcheck {
namespace {

// What a sample is compared by, as bytes.
struct Key {
  std::string bytes;
  char ending = 0;         // Tells whole answers of equal bytes apart.
  bool is_prefix = false;  // `bytes` may go on.
};

using Keys = std::vector<std::optional<Key>>;

class Classifier {
 public:
  explicit Classifier(const Keys& keys) : keys_(keys) {
    classes_.of_sample.assign(keys.size(), -1);
  }

  Classes Run() {
    AddWhole();
    AddPrefixes();
    return InOrderOfAppearance();
  }

 private:
  int NewClass(int sample) {
    classes_.counts.push_back(0);
    classes_.first.push_back(sample);
    return classes_.Size() - 1;
  }

  void Join(int sample, int cls) {
    classes_.of_sample[sample] = cls;
    ++classes_.counts[cls];
  }

  void AddWhole() {
    std::unordered_map<std::string, int> class_of;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (!keys_[i] || keys_[i]->is_prefix) continue;
      const int sample = static_cast<int>(i);
      const auto [it, is_new] =
          class_of.try_emplace(keys_[i]->bytes + keys_[i]->ending, classes_.Size());
      if (is_new) NewClass(sample);
      Join(sample, it->second);
    }
  }

  // Longest first, so that of two that agree the longer one stands for both.
  void AddPrefixes() {
    std::vector<int> prefixes;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] && keys_[i]->is_prefix) prefixes.push_back(static_cast<int>(i));
    }
    std::stable_sort(prefixes.begin(), prefixes.end(),
                     [&](int a, int b) { return keys_[a]->bytes.size() > keys_[b]->bytes.size(); });
    for (const int sample : prefixes) {
      int cls = 0;
      while (cls < classes_.Size() && !Begins(sample, classes_.first[cls])) ++cls;
      if (cls == classes_.Size()) NewClass(sample);
      Join(sample, cls);
    }
  }

  bool Begins(int prefix, int whole) const {
    const std::string_view bytes = keys_[whole]->bytes;
    return bytes.substr(0, keys_[prefix]->bytes.size()) == keys_[prefix]->bytes;
  }

  Classes InOrderOfAppearance() const {
    Classes ordered;
    std::vector<int> renamed(classes_.counts.size(), -1);
    for (const int cls : classes_.of_sample) {
      if (cls >= 0 && renamed[cls] < 0) {
        renamed[cls] = ordered.Size();
        ordered.counts.push_back(classes_.counts[cls]);
        ordered.first.push_back(classes_.first[cls]);
      }
      ordered.of_sample.push_back(cls < 0 ? -1 : renamed[cls]);
    }
    return ordered;
  }

  const Keys& keys_;
  Classes classes_;
};

bool Differ(const Classes& classes, int a, int b) {
  const int class_a = classes.of_sample[a];
  const int class_b = classes.of_sample[b];
  return class_a >= 0 && class_b >= 0 && class_a != class_b;
}

}  // namespace

int Classes::NumCompared() const {
  return std::accumulate(counts.begin(), counts.end(), 0);
}

Classes ClassifyOutputs(const std::vector<Sample>& samples) {
  const TokenIdentity identity = IdentityOf(samples);
  Keys keys;
  for (const Sample& sample : samples) {
    std::optional<std::string> bytes = OutputBytes(*sample.answer, identity);
    const char ending = sample.answer->finish_reason == FinishReason::kStop ? 's' : 'l';
    keys.emplace_back();
    if (bytes) keys.back() = Key{*std::move(bytes), ending, sample.IsPrefix()};
  }
  return Classifier(keys).Run();
}

Classes ClassifyTraces(const std::vector<Sample>& samples) {
  const TokenIdentity identity = IdentityOf(samples);
  Keys keys;
  for (const Sample& sample : samples) {
    std::optional<std::string> bytes = TraceBytes(*sample.answer, identity);
    keys.emplace_back();
    if (bytes) keys.back() = Key{*std::move(bytes), 0, sample.IsPrefix()};
  }
  return Classifier(keys).Run();
}

Classes ClassifyTexts(const std::vector<Sample>& samples) {
  Keys keys;
  for (const Sample& sample : samples) {
    if (sample.IsPrefix() || !sample.answer->text) {
      keys.emplace_back();
    } else {
      keys.push_back(Key{*sample.answer->text, 0, false});
    }
  }
  return Classifier(keys).Run();
}

const TextFinding* FindingOf(const Sample& sample, const TextFindings& findings) {
  if (sample.IsPrefix() || !sample.answer->text) return nullptr;
  const auto it = findings.find(*sample.answer->text);
  return it == findings.end() ? nullptr : &it->second;
}

Classes ClassifyValidity(const std::vector<Sample>& samples, const TextFindings& findings) {
  Keys keys;
  for (const Sample& sample : samples) {
    const TextFinding* finding = FindingOf(sample, findings);
    if (finding == nullptr || finding->validity == Validity::kUnknown) {
      keys.emplace_back();
    } else {
      keys.push_back(Key{finding->validity == Validity::kValid ? "valid" : "invalid", 0, false});
    }
  }
  return Classifier(keys).Run();
}

bool Likeness::Same(int a, int b, CriterionKind criterion) const {
  if (IsOfSingleTexts(criterion)) return !Differ(validity, a, b);
  if (criterion == CriterionKind::kText) return !Differ(texts, a, b);
  if (Differ(outputs, a, b)) return false;
  return criterion != CriterionKind::kBitwise || !Differ(traces, a, b);
}

}  // namespace detcheck
