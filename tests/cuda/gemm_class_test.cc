// What of the class cache needs no device: buckets, and the file of a choice.

#include "engine/embedded/cuda/gemm_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "engine/embedded/cuda/gemm_class_cache.h"

namespace detcheck::cuda {
namespace {

using ::testing::ElementsAre;

cublasLtMatmulAlgo_t AlgoOfWords(uint64_t first) {
  cublasLtMatmulAlgo_t algo;
  for (size_t i = 0; i < std::size(algo.data); ++i) algo.data[i] = first - i;
  return algo;
}

bool SameAlgo(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b) {
  return std::equal(std::begin(a.data), std::end(a.data), std::begin(b.data));
}

GemmClass SomeClass(int max_m) {
  GemmClass choice;
  choice.reference = AlgoOfWords(~uint64_t{0});
  for (const int edge : GemmBucketEdges(max_m)) {
    choice.buckets.push_back({edge, AlgoOfWords(0x8000000000000001 + static_cast<unsigned>(edge))});
  }
  return choice;
}

TEST(GemmBucketEdges, PowersOfTwoUpToTheLargestM) {
  EXPECT_THAT(GemmBucketEdges(1), ElementsAre(1));
  EXPECT_THAT(GemmBucketEdges(2), ElementsAre(1, 2));
  EXPECT_THAT(GemmBucketEdges(5), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(GemmBucketEdges(8), ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(GemmBucketEdges(8320).size(), 15u);
}

TEST(GemmClass, EveryMHasTheFirstBucketThatHoldsIt) {
  const GemmClass choice = SomeClass(100);
  for (int m = 1; m <= 100; ++m) {
    int expected = 1;
    while (expected < m) expected *= 2;
    EXPECT_EQ(choice.BucketOf(m).max_m, std::min(expected, 100)) << "M = " << m;
  }
}

class GemmClassCacheTest : public ::testing::Test {
 protected:
  GemmClassCacheTest() {
    std::string path = (std::filesystem::temp_directory_path() / "detcheck-XXXXXX").string();
    root_ = mkdtemp(path.data());
    setenv("XDG_CACHE_HOME", root_.c_str(), 1);
  }
  ~GemmClassCacheTest() override { std::filesystem::remove_all(root_); }

  static GemmClassKey Key() { return {"GPU \"X\" é", 132, 13000, "13.1.0", {4096, 12288}, 100}; }

  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  std::string root_;
};

TEST_F(GemmClassCacheTest, GivesBackWhatWasStored) {
  EXPECT_FALSE(LoadGemmClass(Key()));
  StoreGemmClass(Key(), SomeClass(100));
  const std::optional<GemmClass> loaded = LoadGemmClass(Key());
  ASSERT_TRUE(loaded);
  const GemmClass stored = SomeClass(100);
  EXPECT_TRUE(SameAlgo(loaded->reference, stored.reference));
  ASSERT_EQ(loaded->buckets.size(), stored.buckets.size());
  for (size_t i = 0; i < stored.buckets.size(); ++i) {
    EXPECT_EQ(loaded->buckets[i].max_m, stored.buckets[i].max_m);
    EXPECT_TRUE(SameAlgo(loaded->buckets[i].algo, stored.buckets[i].algo)) << i;
  }
}

TEST_F(GemmClassCacheTest, LeavesNothingButTheFile) {
  StoreGemmClass(Key(), SomeClass(100));
  StoreGemmClass(Key(), SomeClass(100));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  EXPECT_THAT(files, ElementsAre(GemmClassPath(Key())));
}

TEST_F(GemmClassCacheTest, EveryPartOfTheKeyCounts) {
  StoreGemmClass(Key(), SomeClass(100));
  std::vector<GemmClassKey> others(7, Key());
  others[0].gpu = "GPU Y";
  others[1].num_sms = 78;
  others[2].driver_version = 12080;
  others[3].cublaslt_version = "13.1.1";
  others[4].shape.n = 4097;
  others[5].shape.output = GemmOutput::kFloat32;
  others[6].max_m = 101;
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_FALSE(LoadGemmClass(others[i])) << i;
    // Nor where the file of another key lies in its place.
    std::filesystem::copy_file(GemmClassPath(Key()), GemmClassPath(others[i]));
    EXPECT_FALSE(LoadGemmClass(others[i])) << i;
  }
}

TEST_F(GemmClassCacheTest, DamagedFilesAreIgnored) {
  StoreGemmClass(Key(), SomeClass(100));
  const std::string path = GemmClassPath(Key());
  const std::string good = Read(path);
  ASSERT_TRUE(LoadGemmClass(Key()));
  for (size_t size = 0; size + 2 < good.size(); size += 7) {
    Write(path, good.substr(0, size));
    EXPECT_FALSE(LoadGemmClass(Key())) << "cut to " << size << " bytes";
  }
  const std::string digits = "8000000000000002";
  const size_t place = good.find(digits);
  ASSERT_NE(place, std::string::npos);
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), std::string("null"), std::string(1000, '\xff'),
        std::string(good).replace(place, 16, "8000000000000003"),
        std::string(good).replace(place, 16, "800000000000000g"),
        std::string(good).replace(good.find("gemm-class/1"), 12, "gemm-class/0")}) {
    Write(path, text);
    EXPECT_FALSE(LoadGemmClass(Key())) << text.substr(0, 40);
  }
  StoreGemmClass(Key(), SomeClass(100));
  EXPECT_EQ(Read(path), good);
}

// As processes that share the folder and, in containers, the process ID.
TEST_F(GemmClassCacheTest, WritersAtOnceLeaveAWholeFile) {
  const GemmClass stored = SomeClass(100);
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 4; ++i) {
      writers.emplace_back([&] {
        for (int k = 0; k < 50; ++k) {
          StoreGemmClass(Key(), stored);
          const std::optional<GemmClass> loaded = LoadGemmClass(Key());
          EXPECT_TRUE(!loaded || SameAlgo(loaded->reference, stored.reference));
        }
      });
    }
  }
  EXPECT_TRUE(LoadGemmClass(Key()));
}

TEST_F(GemmClassCacheTest, ClassOfOtherBucketsIsIgnored) {
  StoreGemmClass(Key(), SomeClass(64));
  EXPECT_FALSE(LoadGemmClass(Key()));
}

TEST_F(GemmClassCacheTest, WithoutAPlaceNothingIsKept) {
  setenv("XDG_CACHE_HOME", "/proc/no-such-directory", 1);
  StoreGemmClass(Key(), SomeClass(100));
  EXPECT_FALSE(LoadGemmClass(Key()));
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", root_.c_str(), 1);
  EXPECT_EQ(GemmClassPath(Key()).find(root_ + "/.cache/detcheck/gemm-"), 0u);
  unsetenv("HOME");
  EXPECT_EQ(GemmClassPath(Key()), "");
  StoreGemmClass(Key(), SomeClass(100));
  EXPECT_FALSE(LoadGemmClass(Key()));
}

}  // namespace
}  // namespace detcheck::cuda
