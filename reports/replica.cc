#include "reports/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

constexpr std::string_view kUnknown = "-";
constexpr std::string_view kLost = "target lost: ";

bool WasReached(const Replica& replica) {
  return !replica.subject.empty();
}

struct Limit {
  const char* name;
  std::optional<int> TargetFacts::*field;
};

constexpr std::array<Limit, 6> kLimits = {{{"page size", &TargetFacts::page_size},
                                           {"prefill chunk", &TargetFacts::chunk_size},
                                           {"running requests", &TargetFacts::max_running_requests},
                                           {"KV pool", &TargetFacts::kv_pool_tokens},
                                           {"context", &TargetFacts::context_len},
                                           {"vocabulary", &TargetFacts::vocab_size}}};

struct Ability {
  const char* name;
  bool Capabilities::*field;
};

constexpr std::array<Ability, 18> kAbilities = {
    {{"token IDs in", &Capabilities::ids_in},
     {"prompts as text", &Capabilities::text_in},
     {"token IDs out", &Capabilities::ids_out},
     {"logprobs", &Capabilities::logprobs},
     {"IDs of candidates", &Capabilities::top_ids},
     {"logprobs of prompts", &Capabilities::prompt_logprobs},
     {"seeds", &Capabilities::seed},
     {"ignore_eos", &Capabilities::ignore_eos},
     {"streams", &Capabilities::stream},
     {"aborts", &Capabilities::abort},
     {"releases at engine steps", &Capabilities::engine_step_release},
     {"cached tokens", &Capabilities::cached_tokens},
     {"cache bypass", &Capabilities::cache_bypass},
     {"flush", &Capabilities::flush},
     {"restart", &Capabilities::restart},
     {"witness of batches", &Capabilities::batch_witness},
     {"text", &Capabilities::text},
     {"prefix cache", &Capabilities::prefix_cache}}};

// "target lost: refused" of one replica, as the whole run tells it.
std::string OfReplica(int replica, const std::string& ended_early) {
  const bool is_lost = ended_early.starts_with(kLost);
  return fmt::format("{}{}: {}", is_lost ? kLost : "", NameOfReplica(replica),
                     is_lost ? ended_early.substr(kLost.size()) : ended_early);
}

}  // namespace

std::string NameOfReplica(int replica) {
  return fmt::format("replica {}", replica + 1);
}

std::string JoinIdentities(const std::vector<std::string>& identities) {
  std::string joined;
  for (const std::string& identity : identities) {
    if (!joined.empty()) joined += ' ';
    joined += identity.empty() ? kUnknown : identity;
  }
  return joined;
}

std::vector<std::string> SplitIdentities(const std::string& joined) {
  std::vector<std::string> identities;
  for (size_t begin = 0; begin < joined.size();) {
    const size_t end = std::min(joined.find(' ', begin), joined.size());
    std::string identity = joined.substr(begin, end - begin);
    identities.push_back(identity == kUnknown ? "" : std::move(identity));
    begin = end + 1;
  }
  return identities;
}

Manifest CommonSubject(const std::vector<Replica>& replicas) {
  std::vector<std::pair<std::string, Manifest>> named;
  for (size_t i = 0; i < replicas.size(); ++i) {
    if (!WasReached(replicas[i])) continue;
    named.emplace_back(NameOfReplica(static_cast<int>(i)), replicas[i].subject);
  }
  return CommonManifest(named);
}

TargetFacts CommonFacts(const std::vector<Replica>& replicas) {
  std::optional<TargetFacts> common;
  for (const Replica& replica : replicas) {
    if (!WasReached(replica)) continue;
    if (!common) {
      common = replica.facts;
      continue;
    }
    for (const Limit& limit : kLimits) {
      const std::optional<int>& own = replica.facts.*limit.field;
      std::optional<int>& least = (*common).*limit.field;
      if (own && own < least.value_or(*own + 1)) least = own;
    }
    for (const Ability& ability : kAbilities) {
      bool& can = common->capabilities.*ability.field;
      can = can && replica.facts.capabilities.*ability.field;
    }
  }
  return common.value_or(TargetFacts{});
}

std::string FactsThatDiffer(const std::vector<Replica>& replicas) {
  const TargetFacts common = CommonFacts(replicas);
  const auto differs = [&](const auto& is_other) {
    return std::any_of(replicas.begin(), replicas.end(), [&](const Replica& replica) {
      return WasReached(replica) && is_other(replica.facts);
    });
  };
  std::vector<std::string> facts;
  for (const Limit& limit : kLimits) {
    const std::optional<int>& least = common.*limit.field;
    if (least && differs([&](const TargetFacts& own) { return own.*limit.field != least; })) {
      facts.push_back(fmt::format("{} {}", limit.name, *least));
    }
  }
  for (const Ability& ability : kAbilities) {
    const bool can = common.capabilities.*ability.field;
    if (differs([&](const TargetFacts& own) { return own.capabilities.*ability.field != can; })) {
      facts.push_back(fmt::format("no {}", ability.name));
    }
  }
  return fmt::format("{}", fmt::join(facts, ", "));
}

std::vector<Transcript> SplitByReplica(Transcript* joint, const std::vector<Replica>& replicas) {
  const std::vector<std::string> before = SplitIdentities(joint->identity);
  const std::vector<std::string> after = SplitIdentities(joint->identity_after);
  std::vector<Transcript> each(replicas.size());
  for (size_t i = 0; i < each.size(); ++i) {
    each[i].plan_digest = joint->plan_digest;
    if (i < before.size()) each[i].identity = before[i];
    if (i < after.size()) each[i].identity_after = after[i];
    each[i].ended_early = replicas[i].ended_early;
    each[i].complete = replicas[i].ended_early.empty();
  }
  for (StepRecord& record : joint->records) {
    each[static_cast<size_t>(record.replica)].records.push_back(std::move(record));
  }
  joint->records.clear();
  return each;
}

Transcript JoinReplicas(std::vector<Transcript> each) {
  Transcript joint;
  joint.complete = true;
  std::vector<std::string> before;
  std::vector<std::string> after;
  for (size_t i = 0; i < each.size(); ++i) {
    Transcript& own = each[i];
    joint.plan_digest = own.plan_digest;
    before.push_back(own.identity);
    after.push_back(own.identity_after);
    joint.complete = joint.complete && own.complete;
    // That a target was lost tells before other ends.
    const bool is_graver =
        own.ended_early.starts_with(kLost) && !joint.ended_early.starts_with(kLost);
    if (!own.ended_early.empty() && (joint.ended_early.empty() || is_graver)) {
      joint.ended_early = OfReplica(static_cast<int>(i), own.ended_early);
    }
    for (StepRecord& record : own.records) {
      record.replica = static_cast<int>(i);
      joint.records.push_back(std::move(record));
    }
  }
  joint.identity = JoinIdentities(before);
  joint.identity_after = JoinIdentities(after);
  return joint;
}

}  // namespace detcheck
