#include "engine/embedded/weights_dtype.h"

#include <cmath>
#include <cstring>

namespace detcheck {
namespace {

struct Bf16Codec {
  using Bits = uint16_t;
  static float Decode(Bits bits) { return FloatFromBf16(bits); }
  static Bits Encode(float value) { return Bf16FromFloat(value); }
};

struct F16Codec {
  using Bits = uint16_t;
  static float Decode(Bits bits) { return FloatFromF16(bits); }
  static Bits Encode(float value) { return F16FromFloat(value); }
};

struct F32Codec {
  using Bits = float;
  static float Decode(Bits bits) { return bits; }
  static Bits Encode(float value) { return value; }
};

template <typename From, typename To>
int64_t Convert(const void* in, void* out, int64_t count) {
  const auto* source = static_cast<const std::byte*>(in);
  auto* target = static_cast<std::byte*>(out);
  int64_t first_bad = -1;
  for (int64_t i = 0; i < count; ++i) {
    typename From::Bits from;
    std::memcpy(&from, source + i * sizeof(from), sizeof(from));
    const typename To::Bits to = To::Encode(From::Decode(from));
    std::memcpy(target + i * sizeof(to), &to, sizeof(to));
    if (first_bad < 0 && !std::isfinite(To::Decode(to))) first_bad = i;
  }
  return first_bad;
}

template <typename From>
int64_t ConvertFrom(const void* in, DType to, void* out, int64_t count) {
  switch (to) {
    case DType::kBf16:
      return Convert<From, Bf16Codec>(in, out, count);
    case DType::kF16:
      return Convert<From, F16Codec>(in, out, count);
    case DType::kF32:
      break;
  }
  return Convert<From, F32Codec>(in, out, count);
}

}  // namespace

size_t DTypeBytes(DType dtype) {
  return dtype == DType::kF32 ? 4 : 2;
}

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF32:
      break;
  }
  return "float32";
}

float FloatFromF16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t mantissa = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24, exact in float32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t F16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65,536 or more
  if (magnitude < 0x38800000) {  // below 2^-14: adding 2^-1 leaves multiples of 2^-24, rounded
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

int64_t ConvertElements(DType from, const void* in, DType to, void* out, int64_t count) {
  switch (from) {
    case DType::kBf16:
      return ConvertFrom<Bf16Codec>(in, to, out, count);
    case DType::kF16:
      return ConvertFrom<F16Codec>(in, to, out, count);
    case DType::kF32:
      break;
  }
  return ConvertFrom<F32Codec>(in, to, out, count);
}

}  // namespace detcheck
