#include "reports/manifest_fields.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "fixtures/file_io.h"

namespace detcheck {
namespace {

ManifestField Observed(const std::string& name, const std::string& value) {
  return {name, value, FieldSource::kObserved};
}

std::string Row(const FieldMeaning& field, bool subject) {
  std::string row = "| `" + std::string(field.name) + "` | ";
  if (subject) row += std::string(field.identity ? "yes" : "no") + " | ";
  return row + std::string(field.meaning) + " |\n";
}

TEST(ManifestFields, TheDocumentIsTheTable) {
  const std::string document = ReadFile(DETCHECK_SCHEMA_DIR "/manifest-fields.md");
  std::string subject;
  for (const FieldMeaning& field : SubjectFields()) subject += Row(field, true);
  std::string harness;
  for (const FieldMeaning& field : HarnessFields()) harness += Row(field, false);
  EXPECT_NE(document.find(subject), std::string::npos) << subject;
  EXPECT_NE(document.find(harness), std::string::npos) << harness;
}

TEST(ManifestFields, EveryNameIsThereOnce) {
  std::set<std::string_view> names;
  for (const FieldMeaning& field : SubjectFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
  }
  for (const FieldMeaning& field : HarnessFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
  }
}

TEST(ManifestFields, WhatATargetDoesNotTellIsListedAsUnknown) {
  const Manifest remote =
      WithUnknownFields({Observed("x.y", "1"), Observed("engine.name", "sglang")});
  EXPECT_EQ(remote.size(), SubjectFields().size() + 1);
  EXPECT_EQ(remote.front().name, "engine.name");
  EXPECT_EQ(remote.back().name, "x.y") << "its own fields stay";
  for (const ManifestField& field : remote) {
    EXPECT_EQ(field.source == FieldSource::kUnknown, field.value.empty()) << field.name;
  }
  for (const ManifestField& field : WithUnknownFields({Observed("engine.name", "detcheck-cpu")})) {
    EXPECT_NE(field.name, "device.gpu_name") << "a CPU engine has no GPU";
  }
}

TEST(Identity, EachFieldOfTheIdentityCounts) {
  Manifest subject;
  for (const FieldMeaning& field : SubjectFields()) {
    subject.push_back(Observed(std::string(field.name), "1"));
  }
  const std::string digest = IdentityDigest(subject);
  for (size_t i = 0; i < subject.size(); ++i) {
    Manifest changed = subject;
    changed[i].value = "2";
    EXPECT_EQ(IdentityDigest(changed) != digest, SubjectFields()[i].identity) << subject[i].name;
    changed[i] = {subject[i].name, "", FieldSource::kUnknown};
    EXPECT_EQ(IdentityDigest(changed) != digest, SubjectFields()[i].identity) << subject[i].name;
  }
}

TEST(Identity, DependsOnFieldsAndNotOnTheirOrder) {
  const Manifest one = {Observed("engine.name", "1"), Observed("engine.version", "2")};
  const Manifest other = {Observed("engine.version", "2"), Observed("engine.name", "1")};
  const Manifest third = {Observed("engine.name", "1 14 1 engine.version 2")};
  EXPECT_EQ(IdentityDigest(one), IdentityDigest(other));
  EXPECT_NE(IdentityDigest(one), IdentityDigest(third));
  EXPECT_EQ(IdentityDigest(one), IdentityDigest(WithUnknownFields(one)));
}

TEST(Identity, WhatIsNotInTheTableMayChange) {
  const Manifest before = {Observed("engine.name", "1"), Observed("engine.uptime_s", "10")};
  const Manifest after = {Observed("engine.name", "1"), Observed("engine.uptime_s", "20")};
  EXPECT_EQ(IdentityDigest(before), IdentityDigest(after));
}

}  // namespace
}  // namespace detcheck
