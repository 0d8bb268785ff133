#include "tests/reports/distinct_outputs.h"

#include "engine/base/rng.h"
#include "tests/reports/rich_report.h"

namespace detcheck {

Report DistinctOutputsReport(uint64_t seed) {
  Rng rng(seed);
  RunBuilder run;
  run.plan().requests[0].max_new_tokens = 500;
  std::vector<Completion> answers(2000);
  for (Completion& answer : answers) {
    answer = Says({});
    for (int i = 0; i < 500; ++i) {
      const auto id = static_cast<TokenId>(rng.Below(50000));
      answer.token_ids.push_back(id);
      TokenLogprob told{static_cast<double>(static_cast<float>(-rng.Unit())), {}};
      for (int j = 0; j < 5; ++j) {
        told.top.push_back({static_cast<TokenId>(id + j),
                            static_cast<double>(static_cast<float>(-rng.Unit() - j))});
      }
      answer.logprobs.push_back(told);
    }
  }
  for (size_t i = 0; i < answers.size(); i += 50) {
    run.Batch({answers.begin() + static_cast<ptrdiff_t>(i),
               answers.begin() + static_cast<ptrdiff_t>(i + 50)});
  }
  return ReportOf(run);
}

}  // namespace detcheck
