#include "reports/base64.h"

#include <array>
#include <cstdint>

namespace detcheck {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> kValueOf = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (uint8_t i = 0; i < 64; ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}();

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string text;
  text.resize((bytes.size() + 2) / 3 * 4, '=');
  size_t out = 0;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t num_bytes = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < num_bytes ? static_cast<uint8_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j <= num_bytes; ++j) text[out + j] = kDigits[group >> (18 - 6 * j) & 63];
    out += 4;
  }
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t num_digits = 4;
    if (i + 4 == text.size()) {
      while (num_digits > 2 && text[i + num_digits - 1] == '=') --num_digits;
    }
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint32_t value = j < num_digits ? kValueOf[static_cast<uint8_t>(text[i + j])] : 0;
      if (value == kNoDigit) return std::nullopt;
      group = group << 6 | value;
    }
    for (size_t j = 0; j + 1 < num_digits; ++j) {
      bytes += static_cast<char>(group >> (16 - 8 * j) & 0xFF);
    }
    if (num_digits < 4 && (group & (num_digits == 3 ? 0xFFU : 0xFFFFU)) != 0) return std::nullopt;
  }
  return bytes;
}

}  // namespace detcheck
