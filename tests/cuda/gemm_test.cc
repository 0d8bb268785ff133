#include "engine/embedded/cuda/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/cublaslt.h"
#include "engine/embedded/cuda/gemm_class_cache.h"
#include "engine/embedded/cuda/gemm_trial_kernels.h"
#include "tests/cuda/mma_reference.h"

namespace detcheck::cuda {
namespace {

constexpr GemmShape kQwenO = {4096, 4096, GemmOutput::kBf16};
constexpr GemmShape kQwenDown = {4096, 12288, GemmOutput::kBf16};

/// Random x [max_m, K] and w [N, K] on the device, and products of rows of x.
class Operands {
 public:
  Operands(const GemmShape& shape, int max_m)
      : shape_(shape),
        x_(static_cast<size_t>(max_m * shape.k) * sizeof(__nv_bfloat16)),
        w_(static_cast<size_t>(shape.n * shape.k) * sizeof(__nv_bfloat16)),
        out_(static_cast<size_t>(max_m * shape.n) * sizeof(float)) {
    FillRandom(max_m * shape.k, 11, x(), stream_.get());
    FillRandom(shape.n * shape.k, 12, w(), stream_.get());
    stream_.Synchronize();
  }

  const GemmShape& shape() const { return shape_; }
  __nv_bfloat16* x() const { return x_.as<__nv_bfloat16>(); }
  __nv_bfloat16* w() const { return w_.as<__nv_bfloat16>(); }
  void* out() const { return out_.as<void>(); }
  cudaStream_t stream() const { return stream_.get(); }

  void Run(Gemm* gemm, int m, int first_row = 0) const {
    gemm->Run(shape_, m, x() + first_row * shape_.k, w(), out(), stream());
  }

  /// The bits of `num_rows` rows of the last product, from `first_row` on.
  std::vector<uint32_t> Bits(int first_row, int num_rows) const {
    const auto count = static_cast<size_t>(num_rows * shape_.n);
    std::vector<uint32_t> bits(count);
    std::vector<uint16_t> halves(shape_.output == GemmOutput::kBf16 ? count : 0);
    const size_t width = static_cast<size_t>(shape_.n) * ElementBytes(shape_.output);
    void* host = halves.empty() ? static_cast<void*>(bits.data()) : halves.data();
    DETCHECK_CUDA(
        cudaMemcpyAsync(host, out_.as<std::byte>() + static_cast<size_t>(first_row) * width,
                        static_cast<size_t>(num_rows) * width, cudaMemcpyDeviceToHost, stream()));
    stream_.Synchronize();
    std::copy(halves.begin(), halves.end(), bits.begin());
    return bits;
  }

  /// The product of rows [first_row, first_row + m) of x.
  std::vector<uint32_t> Product(Gemm* gemm, int m, int first_row = 0) const {
    Run(gemm, m, first_row);
    return Bits(0, m);
  }

 private:
  GemmShape shape_;
  Stream stream_;
  DeviceBuffer x_;
  DeviceBuffer w_;
  DeviceBuffer out_;
};

float ValueOf(uint32_t bits, GemmOutput output) {
  if (output == GemmOutput::kBf16) bits <<= 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::vector<float> HostCopy(const __nv_bfloat16* data, int64_t count) {
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  DETCHECK_CUDA(cudaMemcpy(halves.data(), data, halves.size() * 2, cudaMemcpyDeviceToHost));
  std::vector<float> values;
  values.reserve(halves.size());
  for (const uint16_t half : halves) values.push_back(ValueOf(half, GemmOutput::kBf16));
  return values;
}

/// Fails with the first element that differs, and how many do.
void ExpectSameBits(const std::vector<uint32_t>& actual, const std::vector<uint32_t>& expected,
                    const GemmShape& shape, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  size_t num_different = 0;
  size_t first = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    if (num_different++ == 0) first = i;
  }
  if (num_different == 0) return;
  const auto n = static_cast<size_t>(shape.n);
  ADD_FAILURE() << GemmName(shape) << ", " << what << ": " << num_different << " of "
                << actual.size() << " elements differ, the first at row " << first / n
                << ", column " << first % n << std::hex << ": expected bits " << expected[first]
                << ", actual " << actual[first];
}

class GemmTest : public ::testing::Test {
 protected:
  // One cache for all tests, so that a shape is timed once.
  static void SetUpTestSuite() {
    std::string path = (std::filesystem::temp_directory_path() / "detcheck-XXXXXX").string();
    cache_ = mkdtemp(path.data());
    setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(cache_); }

  static std::unique_ptr<Gemm> Prepared(bool deterministic, const GemmShape& shape, int max_m) {
    std::unique_ptr<Gemm> gemm = MakeGemm(deterministic);
    gemm->Prepare(shape, max_m);
    return gemm;
  }

  static inline std::string cache_;
};

// Against the exact product. float32 accumulation of K products in any order, truncating as tensor
// cores do, stays within K * 2^-22 of the sum of magnitudes; rounding to bf16 adds 2^-8 of the
// result, and of the sum of magnitudes where partial sums may have been rounded (default mode).
void ExpectRight(Gemm* gemm, const Operands& operands, int m, bool split) {
  const GemmShape& shape = operands.shape();
  const std::vector<uint32_t> bits = operands.Product(gemm, m);
  const std::vector<float> x = HostCopy(operands.x(), m * shape.k);
  const std::vector<float> w = HostCopy(operands.w(), shape.n * shape.k);
  const double rounding = shape.output == GemmOutput::kBf16 ? 0x1p-8 : 0;
  for (int64_t i = 0; i < m * shape.n; ++i) {
    double exact = 0;
    double magnitude = 0;
    for (int64_t k = 0; k < shape.k; ++k) {
      const double term = double{x[static_cast<size_t>(i / shape.n * shape.k + k)]} *
                          double{w[static_cast<size_t>(i % shape.n * shape.k + k)]};
      exact += term;
      magnitude += std::abs(term);
    }
    const double actual = ValueOf(bits[static_cast<size_t>(i)], shape.output);
    const double bound = static_cast<double>(shape.k) * 0x1p-22 * magnitude +
                         rounding * (split ? magnitude : std::abs(exact));
    // Not written as "> bound", so that NaN fails.
    if (!(std::abs(actual - exact) <= bound)) {
      FAIL() << GemmName(shape) << ", M = " << m << ", row " << i / shape.n << ", column "
             << i % shape.n << ": expected " << exact << " within " << bound << ", actual "
             << actual;
    }
  }
}

TEST_F(GemmTest, TinyProductsAreRight) {
  for (const GemmOutput output : {GemmOutput::kBf16, GemmOutput::kFloat32}) {
    for (const auto& [n, k] : {std::pair{128, 64}, {192, 96}, {288, 192}, {512, 256}}) {
      const GemmShape shape = {n, k, output};
      const Operands operands(shape, 70);
      for (const bool deterministic : {false, true}) {
        const std::unique_ptr<Gemm> gemm = Prepared(deterministic, shape, 70);
        for (const int m : {1, 3, 17, 64, 70}) {
          ExpectRight(gemm.get(), operands, m, !deterministic);
        }
      }
    }
  }
}

// Every row of the product of max_m rows must be what it is in smaller products, whatever their M,
// at other positions (all of x, from a later row on), and alone.
void ExpectRowsKeepTheirBits(Gemm* gemm, const Operands& operands, int max_m) {
  const GemmShape& shape = operands.shape();
  const std::vector<uint32_t> all = operands.Product(gemm, max_m);
  const auto rows_of_all = [&](int first_row, int num_rows) {
    const auto begin = all.begin() + first_row * shape.n;
    return std::vector<uint32_t>(begin, begin + num_rows * shape.n);
  };
  for (const int m :
       {1, 2, 3, 5, 8, 9, 16, 17, 31, 33, 64, 65, 100, 127, 129, 255, 257, 512, 700, 1023}) {
    // Operands stay aligned to 256 bytes where K is a multiple of 32.
    for (const int first_row : {0, 4, 52, 512, max_m / 4 * 4 - 4}) {
      if (first_row + m > max_m) continue;
      ExpectSameBits(operands.Product(gemm, m, first_row), rows_of_all(first_row, m), shape,
                     "M = " + std::to_string(m) + " from row " + std::to_string(first_row) +
                         " on against M = " + std::to_string(max_m));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(GemmTest, TinyDeterministicRowsKeepTheirBits) {
  for (const GemmOutput output : {GemmOutput::kBf16, GemmOutput::kFloat32}) {
    for (const auto& [n, k] :
         {std::pair{128, 64}, {192, 96}, {576, 192}, {256, 256}, {32000, 64}}) {
      const GemmShape shape = {n, k, output};
      const std::unique_ptr<Gemm> gemm = Prepared(true, shape, 300);
      ExpectRowsKeepTheirBits(gemm.get(), Operands(shape, 300), 300);
    }
  }
}

TEST_F(GemmTest, RealDeterministicRowsKeepTheirBits) {
  constexpr GemmShape kFloat32O = {4096, 4096, GemmOutput::kFloat32};
  for (const GemmShape& shape : {kQwenO, kFloat32O, kQwenDown}) {
    const std::unique_ptr<Gemm> gemm = Prepared(true, shape, 1040);
    ExpectRowsKeepTheirBits(gemm.get(), Operands(shape, 1040), 1040);
  }
}

// The class is that of the plainest kernel there is.
TEST_F(GemmTest, DeterministicBitsAreThoseOfSequentialMma) {
  constexpr int kRows = 40;
  for (const GemmOutput output : {GemmOutput::kBf16, GemmOutput::kFloat32}) {
    for (const auto& [n, k] :
         {std::pair{128, 64}, {192, 96}, {576, 1536}, {4096, 4096}, {4096, 12288}}) {
      const GemmShape shape = {n, k, output};
      const Operands operands(shape, kRows);
      const size_t count = size_t{kRows} * static_cast<size_t>(n);
      const DeviceBuffer out(count * sizeof(float));
      MultiplyBySequentialMma(kRows, n, k, operands.x(), operands.w(), out.as<float>(),
                              operands.stream());
      std::vector<uint32_t> expected(count);
      DETCHECK_CUDA(cudaMemcpyAsync(expected.data(), out.as<void>(), count * sizeof(float),
                                    cudaMemcpyDeviceToHost, operands.stream()));
      DETCHECK_CUDA(cudaStreamSynchronize(operands.stream()));
      for (uint32_t& bits : expected) {
        if (output == GemmOutput::kFloat32) continue;
        bits = __bfloat16_as_ushort(__float2bfloat16_rn(ValueOf(bits, GemmOutput::kFloat32)));
      }
      const std::unique_ptr<Gemm> gemm = Prepared(true, shape, kRows);
      ExpectSameBits(operands.Product(gemm.get(), kRows), expected, shape, "sequential mma");
    }
  }
}

// What start-up verifies with: every element of every row is compared, by bits, after rounding.
TEST_F(GemmTest, DifferencesAreCountedToTheBit) {
  constexpr int kTableRows = 3;
  constexpr int kRows = 7;
  constexpr int kWidth = 1000;
  constexpr int kStride = 1024;
  std::vector<float> table(kTableRows * kStride, -1.0f);
  for (size_t i = 0; i < table.size(); ++i) table[i] = 1.0f + static_cast<float>(i) * 0x1p-20f;
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  for (int row = 0; row < kRows; ++row) {
    for (int col = 0; col < kWidth; ++col) {
      floats.push_back(table.at(size_t{kStride} * static_cast<size_t>(row % kTableRows) +
                                static_cast<size_t>(col)));
      halves.push_back(__bfloat16_as_ushort(__float2bfloat16_rn(floats.back())));
    }
  }
  const Stream stream;
  const DeviceBuffer expected(table.size() * sizeof(float));
  const DeviceBuffer out(floats.size() * sizeof(float));
  const DeviceBuffer count(sizeof(uint32_t));
  DETCHECK_CUDA(cudaMemcpy(expected.as<void>(), table.data(), table.size() * sizeof(float),
                           cudaMemcpyHostToDevice));
  const auto count_differences = [&](const void* host, GemmOutput output) {
    uint32_t num_different = 0;
    DETCHECK_CUDA(cudaMemcpy(out.as<void>(), host, floats.size() * ElementBytes(output),
                             cudaMemcpyHostToDevice));
    DETCHECK_CUDA(cudaMemset(count.as<void>(), 0, sizeof(uint32_t)));
    DETCHECK_CUDA(cudaDeviceSynchronize());
    CountDifferences(out.as<void>(), output, kRows,
                     {expected.as<float>(), kTableRows, kWidth, kStride}, count.as<uint32_t>(),
                     stream.get());
    stream.Synchronize();
    DETCHECK_CUDA(cudaMemcpy(&num_different, count.as<void>(), sizeof(num_different),
                             cudaMemcpyDeviceToHost));
    return num_different;
  };
  EXPECT_EQ(count_differences(floats.data(), GemmOutput::kFloat32), 0u);
  EXPECT_EQ(count_differences(halves.data(), GemmOutput::kBf16), 0u);
  for (const size_t i : {size_t{0}, size_t{2 * kWidth + 3}, floats.size() - 1}) {
    floats[i] = std::nextafter(floats[i], 9.0f);
    halves[i] ^= 1;
  }
  EXPECT_EQ(count_differences(floats.data(), GemmOutput::kFloat32), 3u);
  EXPECT_EQ(count_differences(halves.data(), GemmOutput::kBf16), 3u);
}

// The positive control: by the library's own choice some row has other bits in a larger product.
TEST_F(GemmTest, DefaultRowsChangeWithM) {
  size_t most_distinct = 0;
  for (const GemmShape& shape : {kQwenO, kQwenDown}) {
    const Operands operands(shape, 1024);
    const std::unique_ptr<Gemm> gemm = Prepared(false, shape, 1024);
    std::set<std::vector<uint32_t>> distinct;
    for (const int m : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
      operands.Run(gemm.get(), m);
      distinct.insert(operands.Bits(0, 1));
    }
    std::printf("%s: default mode gives row 0 in %zu ways over 11 values of M\n",
                GemmName(shape).c_str(), distinct.size());
    most_distinct = std::max(most_distinct, distinct.size());
  }
  EXPECT_GT(most_distinct, 1u);
}

TEST_F(GemmTest, RunsWhileTheStreamIsCaptured) {
  constexpr int kRows = 77;  // Not seen before the capture.
  for (const bool deterministic : {false, true}) {
    const Operands operands(kQwenO, 128);
    const std::unique_ptr<Gemm> gemm = Prepared(deterministic, kQwenO, 128);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    DETCHECK_CUDA(cudaStreamBeginCapture(operands.stream(), cudaStreamCaptureModeThreadLocal));
    operands.Run(gemm.get(), kRows);
    DETCHECK_CUDA(cudaStreamEndCapture(operands.stream(), &graph));
    DETCHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    DETCHECK_CUDA(cudaGraphLaunch(exec, operands.stream()));
    const std::vector<uint32_t> replayed = operands.Bits(0, kRows);
    DETCHECK_CUDA(cudaGraphExecDestroy(exec));
    DETCHECK_CUDA(cudaGraphDestroy(graph));
    DETCHECK_CUDA(cudaMemset(operands.out(), 0xff, kRows * 4096 * 2));
    ExpectSameBits(operands.Product(gemm.get(), kRows), replayed, kQwenO,
                   deterministic ? "eager against graph, deterministic" : "eager against graph");
  }
}

// An output of 2 GiB is made in slices of 2,048 rows; rows around their edges are as alone.
TEST_F(GemmTest, LargeOutputsAreMadeInSlices) {
  constexpr GemmShape kShape = {128256, 64, GemmOutput::kFloat32};
  constexpr int kRows = 4112;
  const Operands operands(kShape, kRows);
  const std::unique_ptr<Gemm> gemm = Prepared(true, kShape, kRows);
  std::map<int, std::vector<uint32_t>> rows;
  operands.Run(gemm.get(), kRows);
  for (const int row : {0, 2046, 2048, 2050, 4094, 4096, 4110}) {
    rows[row] = operands.Bits(row, 1);
  }
  for (const auto& [row, bits] : rows) {
    ExpectSameBits(operands.Product(gemm.get(), 1, row), bits, kShape,
                   "row " + std::to_string(row) + " alone against M = 4112");
  }
}

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(GemmTest, CacheFileThatIsWrongIsRebuilt) {
  constexpr GemmShape kShape = {256, 192, GemmOutput::kBf16};
  const GemmClassKey key = MakeGemmClassKey(kShape, 33);
  const std::string path = GemmClassPath(key);
  const Operands operands(kShape, 33);
  const std::vector<uint32_t> expected = operands.Product(Prepared(true, kShape, 33).get(), 33);
  const std::optional<GemmClass> good = LoadGemmClass(key);
  ASSERT_TRUE(good);
  const std::string text = FileText(path);
  GemmClassKey foreign = key;
  foreign.gpu = "another";
  StoreGemmClass(foreign, *good);
  // Whole and of this key, but of words that are no configuration.
  GemmClass nonsense = *good;
  for (uint64_t& word : nonsense.buckets.back().algo.data) word = 0;
  StoreGemmClass(key, nonsense);
  for (const std::string& wrong : {std::string("{"), text.substr(0, text.size() / 2),
                                   FileText(GemmClassPath(foreign)), FileText(path)}) {
    std::ofstream(path, std::ios::binary) << wrong;
    ExpectSameBits(operands.Product(Prepared(true, kShape, 33).get(), 33), expected, kShape,
                   "after a wrong cache file");
    EXPECT_TRUE(LoadGemmClass(key));
    EXPECT_NE(FileText(path), wrong);
  }
}

TEST_F(GemmTest, CacheFileIsUsed) {
  constexpr GemmShape kShape = {320, 192, GemmOutput::kBf16};
  constexpr int kMaxM = 64;
  Prepared(true, kShape, kMaxM);
  const GemmClassKey key = MakeGemmClassKey(kShape, kMaxM);
  std::optional<GemmClass> choice = LoadGemmClass(key);
  ASSERT_TRUE(choice);
  const cublasLtMatmulAlgo_t only = choice->buckets.front().algo;
  for (GemmBucket& bucket : choice->buckets) bucket.algo = only;
  StoreGemmClass(key, *choice);
  const std::string stored = FileText(GemmClassPath(key));
  const Manifest manifest = Prepared(true, kShape, kMaxM)->Describe();
  EXPECT_EQ(FileText(GemmClassPath(key)), stored);
  ASSERT_EQ(manifest.size(), 2u);
  EXPECT_EQ(manifest[1].name, "kernels.gemm.320x192");
  EXPECT_EQ(manifest[1].value.find("split-K 1, 1 configurations ("), 0u) << manifest[1].value;
}

}  // namespace
}  // namespace detcheck::cuda
