#include "reports/gate_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "reports/console_words.h"

namespace detcheck {
namespace {

[[noreturn]] void Refuse(const std::string& file, const std::string& fact) {
  throw Error(ErrorCode::kInput, fmt::format("{}: {}", OneLine(file), fact));
}

void RequireCriterion(const Report& report, const std::string& file, const Criterion& declared) {
  const std::string digest = CriterionDigest(declared);
  if (report.judgement.criterion_digest == digest) return;
  Refuse(file,
         fmt::format("judgement: by the criterion {} ({:.12}…), the protocol's is {} ({:.12}…)",
                     Printable(ToString(report.plan.criterion)), report.judgement.criterion_digest,
                     Printable(ToString(declared)), digest));
}

// The report keeps the schema of its criterion with the plan, and only its name with the protocol.
Criterion DeclaredIn(const Report& report) {
  Criterion declared = report.protocol->settings.criterion;
  const std::string path = declared.argument;
  const Criterion& used = report.plan.criterion;
  if (declared.kind == CriterionKind::kJsonSchema &&
      path.substr(path.rfind('/') + 1) == used.argument) {
    declared.schema = used.schema;
  }
  return declared;
}

std::vector<Mode> ModesOf(const Plan& plan) {
  std::vector<Mode> modes = plan.modes;
  for (const Plan::Unplanned& unplanned : plan.unplanned) modes.push_back(unplanned.mode);
  std::sort(modes.begin(), modes.end());
  return modes;
}

// That the plan is of the protocol which the report keeps.
void RequireOwn(const Report& report, const std::string& file) {
  const ModeSettings& declared = report.protocol->settings;
  RequireCriterion(report, file, DeclaredIn(report));
  std::vector<Mode> modes = declared.modes;
  std::sort(modes.begin(), modes.end());
  if (ModesOf(report.plan) != modes || !report.plan.modes_named) {
    Refuse(file, "plan.modes: are not those of the protocol");
  }
  if (report.plan.required_scope != declared.required_scope) {
    Refuse(file, "plan.required_scope: is not the protocol's");
  }
}

// That the files of fixtures that the protocol names had the contents that they have now.
void RequireFixtureFiles(const Report& report, const std::string& file, const Protocol& expected) {
  const std::map<std::string, std::string>& then = report.protocol->fixture_files;
  for (const auto& [name, digest] : expected.fixture_files) {
    const auto it = then.find(name);
    if (it == then.end()) {
      Refuse(file,
             fmt::format("protocol.fixture_files: do not tell what was in {}", Printable(name)));
    }
    if (it->second == digest) continue;
    Refuse(file, fmt::format("protocol.fixture_files: {} was another ({:.12}…, now {:.12}…)",
                             Printable(name), it->second, digest));
  }
}

}  // namespace

void RequireProtocol(const Report& report, const std::string& file, const Protocol* expected) {
  if (report.plan.shard) {
    Refuse(file, fmt::format("plan.shard: is shard {} of {}: merge them first",
                             report.plan.shard->index, report.plan.shard->count));
  }
  if (report.protocol) RequireOwn(report, file);
  if (expected == nullptr) return;
  if (!report.protocol) {
    Refuse(file, fmt::format("protocol: was run by none, not by {}", Printable(expected->name)));
  }
  RequireCriterion(report, file, expected->settings.criterion);
  if (report.protocol->json == expected->json) {
    return RequireFixtureFiles(report, file, *expected);
  }
  const std::string found = ProtocolDigest(*report.protocol);
  const std::string wanted = ProtocolDigest(*expected);
  Refuse(file,
         fmt::format("protocol.sha256: was run by {} ({:.12}…), not by {} ({:.12}…)",
                     Printable(report.protocol->name), found, Printable(expected->name), wanted));
}

}  // namespace detcheck
