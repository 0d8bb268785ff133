#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/error.h"
#include "engine/factory.h"
#include "reports/replica.h"

namespace detcheck {

/// One target, started.
struct Target {
  std::string label;   ///< Of its endpoint; empty where the embedded engine is tested.
  std::string choice;  ///< Why this engine; empty where it was asked for by name.
  std::unique_ptr<Backend> backend;  ///< Null where it could not be started.
  Description description;
  std::optional<Error> failure;  ///< Why it could not.
};

/// What is to be tested: one target, or several replicas of one, in the order in which they were
/// given.
class Targets {
 public:
  /// Starts all. Of several, those that cannot be reached or do not do are kept with their failure.
  /// Throws what the start of the only target throws, or of the first where none can be started.
  explicit Targets(const TargetOptions& options);

  bool AreReplicas() const { return each_.size() > 1; }
  std::vector<Target>& each() { return each_; }

  /// Labels, manifests and facts of each; empty where there is one target.
  std::vector<Replica> Replicas() const;
  /// That plans are made from: of several, what all have in common.
  TargetFacts Facts() const;
  /// Of several, what they have in common.
  Manifest Subject() const;

 private:
  std::vector<Target> each_;  // Never empty.
};

}  // namespace detcheck
