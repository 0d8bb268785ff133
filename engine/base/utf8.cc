#include "engine/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace detcheck {

size_t Utf8SequenceLen(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t len = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < len) return 0;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < len; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return len;
}

bool IsUtf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  while (!text.empty()) {
    uint64_t eight = 0;
    if (text.size() >= sizeof(eight)) {
      std::memcpy(&eight, text.data(), sizeof(eight));
      if ((eight & kHighBits) == 0) {
        text.remove_prefix(sizeof(eight));
        continue;
      }
    }
    const size_t len = Utf8SequenceLen(text);
    if (len == 0) return false;
    text.remove_prefix(len);
  }
  return true;
}

}  // namespace detcheck
