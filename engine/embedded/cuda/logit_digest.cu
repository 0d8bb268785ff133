#include <cstdint>

#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/logit_digest.h"

namespace detcheck::cuda {
namespace {

constexpr int kDigestWords = 8;
constexpr int kBlockWords = 16;

// Read at indices known when the rounds are unrolled: immediates in the code.
__device__ constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct Block {
  uint32_t words[kBlockWords];
};

__device__ __forceinline__ uint32_t RotateRight(uint32_t x, int n) {
  return __funnelshift_r(x, x, n);
}

__device__ __forceinline__ uint32_t BigEndian(float value) {
  return __byte_perm(__float_as_uint(value), 0, 0x0123);
}

// Words [16 b, 16 b + 16) of the padded message of one row.
__device__ __forceinline__ Block LoadBlock(const float* row, int width, int b, int num_blocks) {
  Block block;
  const int first = b * kBlockWords;
  if (first + kBlockWords <= width) {
#pragma unroll
    for (int i = 0; i < kBlockWords; ++i) block.words[i] = BigEndian(row[first + i]);
    return block;
  }
#pragma unroll
  for (int i = 0; i < kBlockWords; ++i) {
    block.words[i] = first + i < width    ? BigEndian(row[first + i])
                     : first + i == width ? 0x80000000u
                                          : 0u;
  }
  if (b == num_blocks - 1) {
    const uint64_t num_bits = static_cast<uint64_t>(width) * 32;
    block.words[kBlockWords - 2] = static_cast<uint32_t>(num_bits >> 32);
    block.words[kBlockWords - 1] = static_cast<uint32_t>(num_bits);
  }
  return block;
}

__device__ __forceinline__ void Compress(Block block, uint32_t (&state)[kDigestWords]) {
  auto& w = block.words;
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
  for (int t = 0; t < 64; ++t) {
    if (t >= 16) {
      const uint32_t w15 = w[(t - 15) % 16];
      const uint32_t w2 = w[(t - 2) % 16];
      const uint32_t s0 = RotateRight(w15, 7) ^ RotateRight(w15, 18) ^ (w15 >> 3);
      const uint32_t s1 = RotateRight(w2, 17) ^ RotateRight(w2, 19) ^ (w2 >> 10);
      w[t % 16] += s0 + w[(t - 7) % 16] + s1;
    }
    const uint32_t s1 = RotateRight(e, 6) ^ RotateRight(e, 11) ^ RotateRight(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[t] + w[t % 16];
    const uint32_t s0 = RotateRight(a, 2) ^ RotateRight(a, 13) ^ RotateRight(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

// digests[i][j] = SHA-256, its bytes in order, of elements [j · piece_len, (j + 1) · piece_len) of
// row i; the last piece of a row ends with the row.
// Shapes: rows [num_rows, width], digests [num_rows, pieces, 8]. Launch: one thread per piece, any
// number of CTAs. Order: SHA-256's own. Twin: detcheck::Sha256.
// The next block is on its way from memory while one is digested.
__global__ void DigestKernel(const float* rows, int num_rows, int width, int piece_len,
                             uint32_t* digests) {
  const int num_pieces = (width + piece_len - 1) / piece_len;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<int64_t>(num_rows) * num_pieces) return;
  const int first = static_cast<int>(i % num_pieces) * piece_len;
  const float* piece = rows + i / num_pieces * width + first;
  const int len = min(piece_len, width - first);
  const int num_blocks = (len + 3 + kBlockWords - 1) / kBlockWords;
  uint32_t state[kDigestWords] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  Block next = LoadBlock(piece, len, 0, num_blocks);
  for (int b = 0; b < num_blocks; ++b) {
    const Block block = next;
    if (b + 1 < num_blocks) next = LoadBlock(piece, len, b + 1, num_blocks);
    Compress(block, state);
  }
#pragma unroll
  for (int j = 0; j < kDigestWords; ++j) {
    digests[i * kDigestWords + j] = __byte_perm(state[j], 0, 0x0123);
  }
}

void Digest(const float* rows, int num_rows, int width, int piece_len, uint32_t* digests,
            cudaStream_t stream) {
  constexpr int kThreads = 64;
  const int64_t num_threads = int64_t{num_rows} * ((width + piece_len - 1) / piece_len);
  const auto num_ctas = static_cast<unsigned>((num_threads + kThreads - 1) / kThreads);
  DigestKernel<<<num_ctas, kThreads, 0, stream>>>(rows, num_rows, width, piece_len, digests);
  DETCHECK_CUDA(cudaGetLastError());
}

std::string Hex(const uint32_t* words) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  const auto* bytes = reinterpret_cast<const unsigned char*>(words);
  for (int i = 0; i < kDigestWords * 4; ++i) {
    hex += kHex[bytes[i] >> 4];
    hex += kHex[bytes[i] & 15];
  }
  return hex;
}

}  // namespace

std::vector<std::string> DigestRows(const float* rows, int num_rows, int width,
                                    DeviceBuffer* scratch, cudaStream_t stream) {
  if (num_rows == 0) return {};
  std::vector<uint32_t> words(static_cast<size_t>(num_rows) * kDigestWords);
  const size_t num_bytes = words.size() * sizeof(uint32_t);
  const int num_pieces = (width + kDigestPieceLen - 1) / kDigestPieceLen;
  const size_t scratch_bytes = num_bytes * (1 + static_cast<size_t>(num_pieces));
  if (scratch->num_bytes() < scratch_bytes) *scratch = DeviceBuffer(scratch_bytes);
  auto* digests = scratch->as<uint32_t>();
  uint32_t* pieces = digests + words.size();
  Digest(rows, num_rows, width, kDigestPieceLen, pieces, stream);
  const int list_len = num_pieces * kDigestWords;
  Digest(reinterpret_cast<const float*>(pieces), num_rows, list_len, list_len, digests, stream);
  DETCHECK_CUDA(cudaMemcpyAsync(words.data(), digests, num_bytes, cudaMemcpyDeviceToHost, stream));
  DETCHECK_CUDA(cudaStreamSynchronize(stream));
  std::vector<std::string> result;
  for (int r = 0; r < num_rows; ++r) result.push_back(Hex(words.data() + r * kDigestWords));
  return result;
}

}  // namespace detcheck::cuda
