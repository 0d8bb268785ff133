#include "engine/embedded/embedded_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "engine/support_tables.h"

namespace detcheck {
namespace {

std::string TextOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Whether the CMakeLists.txt beside a source builds it.
bool IsBuilt(const std::filesystem::path& source) {
  const std::regex name("\\s" + source.filename().string() + "[\\s)]");
  return std::regex_search(TextOf(source.parent_path() / "CMakeLists.txt"), name);
}

// "Suite.Name" of each GoogleTest case that is built, and the names of other tests of ctest.
std::set<std::string> NamesOfTests() {
  const std::regex gtest(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  const std::regex ctest(R"(add_test\(NAME (\w+))");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DETCHECK_TESTS_DIR)) {
    const bool is_source = entry.path().extension() == ".cc";
    if (!is_source && entry.path().filename() != "CMakeLists.txt") continue;
    if (is_source && !IsBuilt(entry.path())) continue;
    const std::string text = TextOf(entry.path());
    const std::regex& pattern = is_source ? gtest : ctest;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
         it != std::sregex_iterator(); ++it) {
      names.insert(is_source ? it->str(1) + '.' + it->str(2) : it->str(1));
    }
  }
  return names;
}

TEST(EmbeddedSupport, EachYesNamesATestThatThereIs) {
  const std::set<std::string> names = NamesOfTests();
  EXPECT_FALSE(names.contains("CpuOpsTest.NoSuchTest"));
  for (const SupportTable& table : OwnSupportTables()) {
    for (const SupportRow& row : table.releases.front().rows) {
      for (const SupportStatement& statement : row.statements) {
        if (statement.answer != SupportAnswer::kDocumented) continue;
        ASSERT_FALSE(statement.sources.empty()) << statement.feature;
        for (const std::string& test : statement.sources) {
          EXPECT_TRUE(names.contains(test))
              << table.engine << ' ' << statement.feature << ' ' << test;
        }
      }
    }
    for (const std::string& test : table.releases.front().default_mode.sources) {
      EXPECT_TRUE(names.contains(test)) << test;
    }
  }
}

TEST(EmbeddedSupport, OfTheCpuEngine) {
  const std::vector<SupportTable> tables = OwnSupportTables();
  ASSERT_FALSE(tables.empty());
  EXPECT_EQ(tables[0].engine, "detcheck-cpu");
  const SupportRange* range = FindRange(tables[0], "0.1.0");
  ASSERT_NE(range, nullptr);
  ASSERT_EQ(range->rows.size(), 1u);
  EXPECT_EQ(range->rows[0].attention_backend, "cpu");
  std::set<std::string> documented;
  for (const SupportStatement& statement : range->rows[0].statements) {
    if (statement.answer == SupportAnswer::kDocumented) documented.insert(statement.feature);
  }
  for (const char* feature : {"deterministic_mode", "continuous_batching", "chunked_prefill",
                              "radix_cache", "non_greedy_sampling", "logprobs", "preemption"}) {
    EXPECT_TRUE(documented.contains(feature)) << feature;
  }
  EXPECT_FALSE(documented.contains("cuda_graph"));
  EXPECT_FALSE(documented.contains("tensor_parallelism"));
}

TEST(EmbeddedSupport, OfTheCudaEngine) {
  const std::vector<SupportTable> tables = OwnSupportTables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[1].engine, "detcheck-cuda");
  const std::vector<SupportRow>& rows = tables[1].releases.front().rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].attention_backend, "flash");
  EXPECT_EQ(rows[1].attention_backend, "reference");
  for (const SupportRow& row : rows) {
    const auto is_graph = [](const SupportStatement& s) { return s.feature == "cuda_graph"; };
    EXPECT_TRUE(std::any_of(row.statements.begin(), row.statements.end(), is_graph));
  }
}

TEST(EmbeddedSupport, SourcesAreThereOnceEach) {
  for (const SupportTable& table : OwnSupportTables()) {
    std::set<std::string> ids;
    for (const SupportSource& source : table.sources) {
      EXPECT_TRUE(ids.insert(source.id).second) << source.id;
      EXPECT_EQ(source.id, source.test);
    }
  }
}

}  // namespace
}  // namespace detcheck
