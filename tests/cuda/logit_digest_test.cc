#include "engine/embedded/cuda/logit_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/base/sha256.h"
#include "tests/cuda/device_array.h"

namespace detcheck::cuda {
namespace {

std::string HostDigest(const float* row, int width) {
  Sha256 list;
  for (int first = 0; first < width; first += kDigestPieceLen) {
    Sha256 piece;
    piece.Update(row + first,
                 static_cast<size_t>(std::min(kDigestPieceLen, width - first)) * sizeof(float));
    const std::string hex = piece.HexDigest();
    for (size_t i = 0; i < hex.size(); i += 2) {
      const auto byte = static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      list.Update(&byte, 1);
    }
  }
  return list.HexDigest();
}

void ExpectHostDigests(int num_rows, int width) {
  const auto count = static_cast<size_t>(num_rows) * static_cast<size_t>(width);
  std::vector<float> values = NormalValues(count, 4.0, static_cast<uint64_t>(width));
  values[0] = std::numeric_limits<float>::quiet_NaN();
  values[count - 1] = -0.0f;
  const DeviceArray<float> rows(values);
  const Stream stream;
  DeviceBuffer scratch;
  const std::vector<std::string> digests =
      DigestRows(rows.data(), num_rows, width, &scratch, stream.get());
  ASSERT_EQ(digests.size(), static_cast<size_t>(num_rows));
  for (size_t r = 0; r < digests.size(); ++r) {
    ASSERT_EQ(digests[r], HostDigest(values.data() + r * static_cast<size_t>(width), width))
        << "row " << r << " of " << num_rows << ", width " << width;
  }
}

// A message has 16 words to a block; its end takes one word, its length two.
TEST(CudaLogitDigest, HostDigestsAroundTheEndsOfBlocks) {
  for (const int width :
       {1, 2, 12, 13, 14, 15, 16, 17, 29, 30, 31, 32, 33, 1000, 1023, 1024, 1025, 2060}) {
    ExpectHostDigests(3, width);
  }
}

TEST(CudaLogitDigest, HostDigestsOfManyRows) {
  for (const int num_rows : {1, 2, 264, 265, 600, 9000}) ExpectHostDigests(num_rows, 37);
}

TEST(CudaLogitDigest, HostDigestsOfAVocabulary) {
  ExpectHostDigests(2, 151936);
  ExpectHostDigests(1, 128257);
}

TEST(CudaLogitDigest, NothingForNoRows) {
  const Stream stream;
  DeviceBuffer scratch;
  EXPECT_TRUE(DigestRows(nullptr, 0, 10, &scratch, stream.get()).empty());
}

}  // namespace
}  // namespace detcheck::cuda
