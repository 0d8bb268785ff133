#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backend.h"

namespace detcheck {

/// What a field of a manifest means. reports/schema/manifest-fields.md is this table for readers.
struct FieldMeaning {
  std::string_view name;
  /// Read before and after the run, and again before a run is gone on with: a change makes the run
  /// inconclusive.
  bool identity = false;
  /// Of a GPU: listed for targets that are not known to run on a CPU.
  bool gpu = false;
  std::string_view meaning;
};

/// The fields of the subject, in the order in which they are shown. A target may tell others.
std::span<const FieldMeaning> SubjectFields();

/// The fields of the harness, but for the environment's (cli/environment.h).
std::span<const FieldMeaning> HarnessFields();

/// Adds each of the subject's fields that the target did not tell, as unknown, and puts them in the
/// table's order; what the table does not have comes last.
Manifest WithUnknownFields(const Manifest& subject);

/// The value of the field; empty where it is unknown.
std::string FieldValue(const Manifest& manifest, std::string_view name);

/// What manifests have in common: where values differ, all of them, each with its manifest's name
/// ("shard 1: a; shard 2: not known").
Manifest CommonManifest(const std::vector<std::pair<std::string, Manifest>>& named);

/// Digest of the fields that are the subject's identity, whatever their order; unknown ones count
/// as absent.
std::string IdentityDigest(const Manifest& subject);

/// Names of the fields that are the subject's identity and have not the same value in both, in the
/// table's order.
std::vector<std::string> DifferingIdentity(const Manifest& a, const Manifest& b);

}  // namespace detcheck
