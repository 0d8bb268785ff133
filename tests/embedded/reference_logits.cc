#include "tests/embedded/reference_logits.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/embedded/engine.h"

namespace detcheck {

LogitDistance DistanceToReference(const std::string& name, const EngineDevice& device,
                                  EngineOptions options) {
  constexpr int kNumTop = 32;
  const auto reference =
      nlohmann::json::parse(std::ifstream(std::string(REFERENCE_DIR) + "/" + name + ".json"));
  options.model = reference["model"];
  options.random_seed = reference["seed"];
  Engine engine(ForDevice(device, options), device);
  LogitDistance distance;
  distance.bf16_rms = reference["bf16_rms"];
  distance.bf16_largest = reference["bf16_largest"];
  double sum = 0.0;
  for (const auto& prompt : reference["prompts"]) {
    std::vector<TokenId> ids = prompt["ids"];
    ids.push_back(0);  // A score is given for each token but the first.
    const std::vector<TokenLogprob> scores = engine.Score(ids, kNumTop);
    for (const auto& row : prompt["rows"]) {
      std::map<TokenId, double> known;
      for (size_t i = 0; i < row["ids"].size(); ++i) known[row["ids"][i]] = row["logprobs"][i];
      for (const TokenCandidate& candidate : scores.at(row["position"]).top) {
        const auto found = known.find(candidate.id);
        if (found == known.end()) {
          ++distance.num_unknown;
          continue;
        }
        const double difference = std::abs(candidate.logprob - found->second);
        distance.largest = std::max(distance.largest, difference);
        sum += difference * difference;
        ++distance.num_compared;
      }
    }
  }
  distance.rms = std::sqrt(sum / std::max(distance.num_compared, 1));
  return distance;
}

}  // namespace detcheck
