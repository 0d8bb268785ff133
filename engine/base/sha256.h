#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace detcheck {

/// SHA-256 (FIPS 180-4), incremental.
class Sha256 {
 public:
  Sha256();
  void Update(const void* data, size_t num_bytes);
  void Update(std::string_view bytes) { Update(bytes.data(), bytes.size()); }
  /// Ends the message; the object must not be used afterwards. 64 lower-case hex digits.
  std::string HexDigest();

 private:
  void Compress(const uint8_t* block);

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> block_{};
  size_t block_len_ = 0;
  uint64_t num_bytes_ = 0;
};

/// Digest of `bytes` as 64 lower-case hex digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace detcheck
