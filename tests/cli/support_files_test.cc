#include "cli/support_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/cli/testing.h"

namespace detcheck {
namespace {

using enum SupportAnswer;

// What is documented where everything that the project names is on, and nothing else.
SupportFinding Find(const std::string& engine, const std::string& version,
                    const std::string& backend, const std::string& tp_size = "1",
                    const std::string& radix_cache = "on") {
  Manifest subject;
  for (const auto& [name, value] : {std::pair{std::string("engine.name"), engine},
                                    {"engine.version", version},
                                    {"engine.attention_backend", backend},
                                    {"engine.radix_cache", radix_cache},
                                    {"parallelism.tp_size", tp_size}}) {
    subject.push_back({name, value, FieldSource::kClaimed});
  }
  for (const auto& [name, value] : {std::pair{"engine.mode", "deterministic"},
                                    {"engine.chunked_prefill_size", "8192"},
                                    {"engine.cuda_graph", "on"},
                                    {"engine.speculative_decoding", "off"},
                                    {"parallelism.pp_size", "1"},
                                    {"parallelism.dp_size", "1"},
                                    {"parallelism.ep_size", "1"}}) {
    subject.push_back({name, value, FieldSource::kClaimed});
  }
  Plan plan;
  plan.requests.emplace_back().sampling.temperature = 0.7;
  return SupportOf(subject, plan);
}

TEST(SupportFiles, AreThereOnceForEachEngine) {
  std::set<std::string> engines;
  for (const SupportTable& table : AllSupportTables()) {
    EXPECT_TRUE(engines.insert(table.engine).second) << table.engine;
  }
  for (const char* engine : {"detcheck-cpu", "sglang", "vllm"}) {
    EXPECT_TRUE(engines.contains(engine)) << engine;
  }
}

TEST(SupportFiles, OfSglang) {
  EXPECT_EQ(Find("sglang", "0.5.2", "fa3").answer, kUndocumented) << "before the mode";
  EXPECT_EQ(Find("sglang", "0.5.3", "fa3").answer, kDocumented);
  EXPECT_EQ(Find("sglang", "0.5.3", "fa3", "2").answer, kDocumented);
  EXPECT_EQ(Find("sglang", "0.5.3", "fa3", "8").answer, kDocumentedUnsupported);
  EXPECT_EQ(Find("sglang", "0.5.4.post3", "triton").answer, kDocumentedUnsupported);
  EXPECT_EQ(Find("sglang", "0.5.5", "triton").answer, kDocumented);
  EXPECT_EQ(Find("sglang", "0.5.5", "fa3", "2").answer, kUndocumented);
  EXPECT_EQ(Find("sglang", "0.5.9", "flashinfer").answer, kDocumentedUnsupported);
  EXPECT_EQ(Find("sglang", "0.5.9", "flashinfer").reason, "radix_cache");
  EXPECT_EQ(Find("sglang", "0.5.9", "flashinfer", "1", "off").answer, kDocumented);
  EXPECT_EQ(Find("sglang", "0.5.23", "trtllm_mha").answer, kDocumentedUnsupported);
  EXPECT_EQ(Find("sglang", "0.5.23", "dsv4").answer, kDocumentedUnsupported);
  EXPECT_EQ(Find("sglang", "0.5.24", "dsv4").answer, kDocumented);
}

TEST(SupportFiles, OfVllm) {
  EXPECT_EQ(Find("vllm", "0.10.2", "FLASH_ATTN").answer, kUndocumented);
  const SupportFinding finding = Find("vllm", "0.32.0", "FLASH_ATTN");
  EXPECT_EQ(finding.answer, kUndocumented);
  EXPECT_EQ(finding.reason, "nothing is said of chunked_prefill, radix_cache");
}

TEST(SupportFiles, AnEngineWithoutAFileIsUndocumented) {
  const SupportFinding finding = Find("other", "1.0", "x");
  EXPECT_EQ(finding.answer, kUndocumented);
  EXPECT_EQ(finding.reason, "there is no support table of this engine");
}

}  // namespace
}  // namespace detcheck
