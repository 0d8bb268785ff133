#pragma once

#include <vector>

#include "fixtures/criterion.h"
#include "reports/samples.h"
#include "reports/text_findings.h"

namespace detcheck {

/// Which samples are alike in one respect. Classes are numbered in order of first appearance.
struct Classes {
  std::vector<int> of_sample;  ///< Class of each sample; -1: it has nothing to compare.
  std::vector<int> counts;     ///< Samples of each class.
  std::vector<int> first;      ///< A sample of each class: the first that is whole, if any.

  int Size() const { return static_cast<int>(counts.size()); }
  int NumCompared() const;
};

/// Alike: equal token IDs, or texts where no sample has IDs (reports/token_identity.h), and finish
/// reason. An aborted sample goes with the first class whose output it begins; only where there is
/// none it makes one of its own.
Classes ClassifyOutputs(const std::vector<Sample>& samples);

/// Alike: equal sequences of (token ID, bits of the chosen token's logprob), with the tokens' bytes
/// where no sample has IDs, over the samples that have logprobs; aborted samples as above.
Classes ClassifyTraces(const std::vector<Sample>& samples);

/// Alike: equal bytes of text, over the whole samples that have text.
Classes ClassifyTexts(const std::vector<Sample>& samples);

/// What was found of the sample's text; null where it is aborted, has none, or was not looked at.
const TextFinding* FindingOf(const Sample& sample, const TextFindings& findings);

/// Alike: both valid, or both invalid, over the samples of which that was told.
Classes ClassifyValidity(const std::vector<Sample>& samples, const TextFindings& findings);

/// All together.
struct Likeness {
  Classes outputs;
  Classes traces;
  Classes texts;
  Classes validity;

  Likeness(const std::vector<Sample>& samples, const TextFindings& findings)
      : outputs(ClassifyOutputs(samples)),
        traces(ClassifyTraces(samples)),
        texts(ClassifyTexts(samples)),
        validity(ClassifyValidity(samples, findings)) {}

  /// Whether samples `a` and `b` are the same answer under `criterion`. What one of them does not
  /// have (logprobs, text, a text that could be judged) is not held against it.
  bool Same(int a, int b, CriterionKind criterion) const;
};

}  // namespace detcheck
