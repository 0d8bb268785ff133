#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/request.h"
#include "fixtures/plan.h"
#include "reports/judgement.h"
#include "reports/text_findings.h"
#include "reports/transcript.h"

namespace detcheck {

/// One of several targets that ran the same plan and are to answer alike. Its place in the list is
/// its number, from 0 on; people are told "replica 1" of the first.
struct Replica {
  std::string label;        ///< Of its endpoint, without names of hosts.
  Manifest subject;         ///< Empty where it could not be reached.
  TargetFacts facts;        ///< Its own; the plan was made from what all have in common.
  std::string ended_early;  ///< Why not every step was run on it; empty where each was.
};

/// "replica 2", of the one with number 1.
std::string NameOfReplica(int replica);

/// Digests of the identities of several replicas as one text, "-" for one that is not known; and
/// the digest of one of them, empty where it is not known.
std::string JoinIdentities(const std::vector<std::string>& identities);
std::vector<std::string> SplitIdentities(const std::string& joined);

/// What the manifests have in common: where values differ, all of them, each with its replica.
Manifest CommonSubject(const std::vector<Replica>& replicas);

/// The smaller limits, and what all can do. Replicas that could not be reached are left out.
TargetFacts CommonFacts(const std::vector<Replica>& replicas);

/// Where the facts of the replicas differ, in one line; empty where they are the same.
std::string FactsThatDiffer(const std::vector<Replica>& replicas);

/// The records of each replica as a transcript of its own. Empties `joint`.
std::vector<Transcript> SplitByReplica(Transcript* joint, const std::vector<Replica>& replicas);

/// All of them as one, in the order of the replicas.
Transcript JoinReplicas(std::vector<Transcript> each);

/// Judges each replica by itself and then all against each other: for every request the steady
/// reference (the control arm's) of each against that of the first one that has one. A difference
/// is a failure of scope `replica`, whose condition says which fields of the identity differ.
/// The transcript is left as it was.
Judgement JudgeReplicas(const Plan& plan, const std::vector<Replica>& replicas,
                        const TextFindings& texts, Transcript* transcript);

}  // namespace detcheck
