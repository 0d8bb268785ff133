#include "cli/targets.h"

#include <utility>

#include "engine/remote/endpoint.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

Target Start(const TargetOptions& options) {
  Target target;
  target.backend = MakeBackend(options, &target.choice);
  target.description = target.backend->Describe();
  target.description.subject = WithUnknownFields(target.description.subject);
  return target;
}

// What one replica cannot do leaves the others alone; a wrong option is wrong for all.
bool IsOfOneReplica(ErrorCode code) {
  return code == ErrorCode::kTarget || code == ErrorCode::kDevice ||
         code == ErrorCode::kUnsupported;
}

Target StartReplica(TargetOptions options, const std::string& endpoint) {
  options.remote.endpoint = endpoint;
  Target target;
  try {
    target = Start(options);
  } catch (const Error& error) {
    if (!IsOfOneReplica(error.code())) throw;
    target.failure = error;
  }
  target.label = ParseEndpoint(endpoint).label;
  return target;
}

}  // namespace

Targets::Targets(const TargetOptions& options) {
  if (options.replicas.empty()) {
    each_.push_back(Start(options));
    return;
  }
  bool any_started = false;
  each_.push_back(StartReplica(options, options.remote.endpoint));
  for (const std::string& endpoint : options.replicas) {
    each_.push_back(StartReplica(options, endpoint));
  }
  for (const Target& target : each_) any_started = any_started || target.backend != nullptr;
  if (!any_started) throw Error(*each_.front().failure);
}

std::vector<Replica> Targets::Replicas() const {
  std::vector<Replica> replicas;
  if (!AreReplicas()) return replicas;
  for (const Target& target : each_) {
    replicas.push_back({target.label, target.description.subject, target.description.facts, ""});
  }
  return replicas;
}

TargetFacts Targets::Facts() const {
  return AreReplicas() ? CommonFacts(Replicas()) : each_.front().description.facts;
}

Manifest Targets::Subject() const {
  return AreReplicas() ? CommonSubject(Replicas()) : each_.front().description.subject;
}

}  // namespace detcheck
