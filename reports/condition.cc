#include "reports/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/composition.h"

namespace detcheck {
namespace {

using Observations = std::vector<const Observation*>;

/// Values that are named one by one; more of them are no statement.
constexpr size_t kMaxNamedValues = 4;

// How a statement on an axis reads; `{}` is the value.
struct AxisWords {
  const char* name;
  ConditionKind kind;
  const char* from;   // All from a value on.
  const char* up_to;  // All up to a value.
  const char* only;   // Only at these values.
};

constexpr AxisWords kAxisWords[] = {
    {"batch_size", ConditionKind::kFormedSize, "in all batches >= {}, in none below",
     "in all batches <= {}, in none above", "in batches of {} only"},
    {"neighbour_prefill", ConditionKind::kNeighbourPrefill,
     "beside >= {} prefill tokens, never beside fewer",
     "beside <= {} prefill tokens, never beside more", "beside {} prefill tokens only"},
    {"same_step_prefill", ConditionKind::kSameStepPrefill,
     "with >= {} neighbour prefill tokens in its engine step, never with fewer",
     "with <= {} neighbour prefill tokens in its engine step, never with more",
     "with {} neighbour prefill tokens in its engine step only"},
    {"cached_tokens", ConditionKind::kCachedTokens, "with >= {} cached tokens, never with fewer",
     "with <= {} cached tokens, never with more", "with {} cached tokens only"},
    {"item", ConditionKind::kItem, "at all items from {} on, at none before",
     "at all items up to {}, at none after", "at item {} only"},
    {"history", ConditionKind::kHistory, "", "", "after {} only"},
    {"prefill_chunks", ConditionKind::kChunkBoundary,
     "where its prompt was prefilled in >= {} chunks, never in fewer",
     "where its prompt was prefilled in <= {} chunks, never in more",
     "where its prompt was prefilled in {} chunks only"},
    {"chunk_boundary", ConditionKind::kChunkBoundary,
     "where the first chunk of its prompt ends at >= {}, never before",
     "where the first chunk of its prompt ends at <= {}, never after",
     "where the first chunk of its prompt ends at {} only"},
};

// Kinds of earlier traffic, by the values of the axis "history" from 1 on.
constexpr const char* kTrafficWords[] = {"a large batch", "long prompts", "aborted requests",
                                         "memory pressure", "a restart"};

// Axes whose values are names: a bound on them means nothing.
bool IsOfNames(const std::string& axis) {
  return axis == "history";
}

std::string ValueInWords(const std::string& axis, int64_t value) {
  const std::string name = NameOnAxis(axis, value);
  return name.empty() ? fmt::format("{}", value) : name;
}

ConditionKind KindOf(const std::string& axis) {
  for (const AxisWords& words : kAxisWords) {
    if (axis == words.name) return words.kind;
  }
  return ConditionKind::kOtherAxis;
}

std::string Named(const std::string& axis, const char* AxisWords::*form, const std::string& value) {
  for (const AxisWords& words : kAxisWords) {
    if (axis == words.name) return fmt::format(fmt::runtime(words.*form), value);
  }
  const std::string name = fmt::format("{} ", axis);
  if (form == &AxisWords::from) return fmt::format("where {}>= {}, never below", name, value);
  if (form == &AxisWords::up_to) return fmt::format("where {}<= {}, never above", name, value);
  return fmt::format("where {}is {} only", name, value);
}

std::optional<int64_t> ValueOn(const Observation& observation, const std::string& axis) {
  for (const Axis& value : observation.axes) {
    if (value.name == axis) return value.value;
  }
  return std::nullopt;
}

// Values on one axis, of those that diverged and of those that did not.
struct Split {
  std::set<int64_t> diverged;
  std::set<int64_t> agreed;

  bool Separates() const {
    return !diverged.empty() && !agreed.empty() &&
           std::none_of(diverged.begin(), diverged.end(),
                        [&](int64_t value) { return agreed.contains(value); });
  }
};

Split SplitOn(const Observations& observations, const std::string& axis) {
  Split split;
  for (const Observation* observation : observations) {
    const std::optional<int64_t> value = ValueOn(*observation, axis);
    if (value) (observation->diverged ? split.diverged : split.agreed).insert(*value);
  }
  return split;
}

// What diverged must lie on the axis, or a statement about the axis says nothing of it.
bool CoversAllDiverged(const Observations& observations, const std::string& axis) {
  return std::all_of(observations.begin(), observations.end(), [&](const Observation* o) {
    return !o->diverged || ValueOn(*o, axis).has_value();
  });
}

// All from a value on, or all up to one; empty where the axis does not separate so. Places in a
// batch are no quantity: one of them is named, not bounded.
std::string BoundStatement(const Split& split, const std::string& axis) {
  if (IsOfNames(axis) || (axis == "item" && split.diverged.size() == 1)) return "";
  const int64_t first = *split.diverged.begin();
  const int64_t last = *split.diverged.rbegin();
  if (first > *split.agreed.rbegin()) {
    return Named(axis, &AxisWords::from, fmt::format("{}", first));
  }
  if (last < *split.agreed.begin()) {
    return Named(axis, &AxisWords::up_to, fmt::format("{}", last));
  }
  return "";
}

std::string ValuesStatement(const Split& split, const std::string& axis) {
  if (split.diverged.size() > kMaxNamedValues) return "";
  std::vector<std::string> values;
  for (const int64_t value : split.diverged) values.push_back(ValueInWords(axis, value));
  return Named(axis, &AxisWords::only, fmt::format("{}", fmt::join(values, ", ")));
}

// The statement on one axis that holds of every observation; empty where there is none. A bound
// says more than a list of values, on whichever axis it is.
Condition ExactStatement(const Observations& observations, const std::vector<std::string>& axes) {
  for (const auto statement_of : {BoundStatement, ValuesStatement}) {
    for (const std::string& axis : axes) {
      if (!CoversAllDiverged(observations, axis)) continue;
      const Split split = SplitOn(observations, axis);
      std::string statement = split.Separates() ? statement_of(split, axis) : "";
      if (!statement.empty()) return {KindOf(axis), statement};
    }
  }
  return {};
}

std::vector<std::string> AxisNames(const Observations& observations) {
  std::vector<std::string> names;
  for (const Observation* observation : observations) {
    for (const Axis& axis : observation->axes) {
      if (std::find(names.begin(), names.end(), axis.name) == names.end()) {
        names.push_back(axis.name);
      }
    }
  }
  return names;
}

// Cuts off, on one axis, everything below the least value that diverged; then looks for a second
// axis that explains the rest.
Condition TwoAxisStatement(const Observations& observations, const std::vector<std::string>& axes) {
  for (const std::string& first : axes) {
    if (IsOfNames(first) || !CoversAllDiverged(observations, first)) continue;
    const Split split = SplitOn(observations, first);
    Observations rest;
    for (const Observation* observation : observations) {
      const std::optional<int64_t> value = ValueOn(*observation, first);
      if (value && *value >= *split.diverged.begin()) rest.push_back(observation);
    }
    if (rest.size() == observations.size()) continue;
    std::vector<std::string> others = axes;
    std::erase(others, first);
    const Condition there = ExactStatement(rest, others);
    if (there.words.empty()) continue;
    return {ConditionKind::kTwoAxes,
            fmt::format("{}; there {}",
                        Named(first, &AxisWords::from, fmt::format("{}", *split.diverged.begin())),
                        there.words)};
  }
  return {};
}

bool RepeatsDisagree(const Observations& observations) {
  std::map<std::string, bool> diverged_in;
  return std::any_of(observations.begin(), observations.end(), [&](const Observation* o) {
    const auto [it, is_new] = diverged_in.try_emplace(o->cell, o->diverged);
    return !is_new && it->second != o->diverged;
  });
}

void SetAxis(const std::string& name, int64_t value, std::vector<Axis>* axes) {
  for (Axis& axis : *axes) {
    if (axis.name == name) {
      axis.value = value;
      return;
    }
  }
  axes->push_back({name, value});
}

}  // namespace

std::vector<Axis> AxesOf(const Sample& sample) {
  std::vector<Axis> axes = sample.step->axes;
  const Witness& witness = sample.answer->witness;
  const auto num_items = static_cast<int>(sample.step->items.size());
  SetAxis("batch_size", witness.formed_size.value_or(num_items), &axes);
  if (witness.same_step_prefill_tokens) {
    SetAxis("same_step_prefill", *witness.same_step_prefill_tokens, &axes);
  }
  if (witness.cached_tokens) SetAxis("cached_tokens", *witness.cached_tokens, &axes);
  SetAxis("item", sample.ref.item, &axes);
  if (witness.source == WitnessSource::kEngine) {
    SetAxis("prefill_chunks", std::ssize(witness.chunk_ends) + 1, &axes);
  }
  if (!witness.chunk_ends.empty()) SetAxis("chunk_boundary", witness.chunk_ends.front(), &axes);
  return axes;
}

std::string NameOnAxis(const std::string& axis, int64_t value) {
  const bool is_name = IsOfNames(axis) && value >= 1 && value <= std::ssize(kTrafficWords);
  return is_name ? kTrafficWords[value - 1] : "";
}

Observation Observe(const Plan& plan, const Sample& sample, bool diverged) {
  Observation observation;
  observation.diverged = diverged;
  observation.control = sample.IsControl();
  observation.axes = AxesOf(sample);
  observation.cell = fmt::format("{}#{}", CompositionKey(plan, *sample.record), sample.ref.item);
  for (const Axis& axis : observation.axes) {
    observation.cell += fmt::format("#{}={}", axis.name, axis.value);
  }
  return observation;
}

Condition DescribeCondition(const std::vector<Observation>& all) {
  Observations observations;
  for (const Observation& observation : all) observations.push_back(&observation);
  const auto num_diverged =
      std::count_if(all.begin(), all.end(), [](const Observation& o) { return o.diverged; });
  if (num_diverged == 0) return {};
  if (RepeatsDisagree(observations)) {
    return {ConditionKind::kIntermittent,
            fmt::format("intermittent: {} of {} samples", num_diverged, all.size())};
  }
  const std::vector<std::string> axes = AxisNames(observations);
  Condition condition = ExactStatement(observations, axes);
  if (condition.words.empty()) condition = TwoAxisStatement(observations, axes);
  if (!condition.words.empty()) return condition;
  const bool all_varied = std::all_of(all.begin(), all.end(), [](const Observation& o) {
    return o.control ? !o.diverged : o.diverged;
  });
  if (!all_varied) return {};
  return {ConditionKind::kVariedSteps, CoversAllDiverged(observations, "history")
                                           ? "after all other traffic, never before it"
                                           : "in all varied steps, never alone"};
}

Condition DescribePosition(const std::vector<Divergence>& divergences, int prompt_len) {
  std::set<int> tokens;
  std::set<int> logprobs;
  int num_answers = 0;
  for (const Divergence& divergence : divergences) {
    if (!divergence.breaks_criterion) continue;
    if (divergence.text_offset) return {};  // Positions are counted in tokens.
    ++num_answers;
    if (divergence.index) {
      tokens.insert(*divergence.index);
    } else if (divergence.first_logprob_index) {
      logprobs.insert(*divergence.first_logprob_index);
    }
  }
  const std::set<int>& indices = tokens.empty() ? logprobs : tokens;
  if (num_answers < 2 || tokens.size() + logprobs.size() != 1 || *indices.begin() == 0) return {};
  return {ConditionKind::kAbsolutePosition,
          fmt::format("{} always part at absolute position {} ({} different answers)",
                      tokens.empty() ? "logprobs" : "tokens", prompt_len + *indices.begin(),
                      num_answers)};
}

}  // namespace detcheck
