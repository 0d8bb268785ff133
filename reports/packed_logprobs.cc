#include "reports/packed_logprobs.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "reports/base64.h"

namespace detcheck {
namespace {

constexpr int kMaxCandidates = 1 << 20;

bool IsFloat32(double value) {
  const auto narrow = static_cast<float>(value);
  return std::bit_cast<uint64_t>(static_cast<double>(narrow)) == std::bit_cast<uint64_t>(value);
}

bool AllFloat32(const std::vector<TokenLogprob>& logprobs) {
  return std::all_of(logprobs.begin(), logprobs.end(), [](const TokenLogprob& position) {
    return IsFloat32(position.logprob) &&
           std::all_of(position.top.begin(), position.top.end(),
                       [](const TokenCandidate& c) { return IsFloat32(c.logprob); });
  });
}

// The same bytes on every machine, whatever its byte order.
template <typename Bits>
void AppendLittleEndian(Bits bits, std::string* column) {
  for (size_t i = 0; i < sizeof(Bits); ++i) *column += static_cast<char>(bits >> (8 * i) & 0xFF);
}

template <typename Bits>
Bits LittleEndianAt(std::string_view column, size_t index) {
  Bits bits = 0;
  for (size_t i = 0; i < sizeof(Bits); ++i) {
    bits |= static_cast<Bits>(static_cast<uint8_t>(column[index * sizeof(Bits) + i])) << (8 * i);
  }
  return bits;
}

// A column of logprobs, in either width.
class LogprobColumn {
 public:
  explicit LogprobColumn(bool float32) : float32_(float32) {}
  LogprobColumn(bool float32, std::string bytes) : float32_(float32), bytes_(std::move(bytes)) {}

  size_t Width() const { return float32_ ? sizeof(float) : sizeof(double); }
  bool IsWhole() const { return bytes_.size() % Width() == 0; }
  size_t Size() const { return bytes_.size() / Width(); }
  const std::string& bytes() const { return bytes_; }

  void Append(double value) {
    if (float32_) {
      AppendLittleEndian(std::bit_cast<uint32_t>(static_cast<float>(value)), &bytes_);
    } else {
      AppendLittleEndian(std::bit_cast<uint64_t>(value), &bytes_);
    }
  }

  double operator[](size_t index) const {
    if (float32_) {
      return static_cast<double>(std::bit_cast<float>(LittleEndianAt<uint32_t>(bytes_, index)));
    }
    return std::bit_cast<double>(LittleEndianAt<uint64_t>(bytes_, index));
  }

 private:
  const bool float32_;
  std::string bytes_;
};

void WriteCounts(const std::vector<TokenLogprob>& logprobs, JsonText* json) {
  const size_t first = logprobs.front().top.size();
  const bool equal = std::all_of(logprobs.begin(), logprobs.end(),
                                 [&](const TokenLogprob& p) { return p.top.size() == first; });
  json->Key("top_n");
  if (equal) {
    json->Int(static_cast<int64_t>(first));
    return;
  }
  json->BeginArray();
  for (const TokenLogprob& position : logprobs) {
    json->Int(static_cast<int64_t>(position.top.size()));
  }
  json->EndArray();
}

std::string ReadBytes(const JsonValue& value) {
  std::optional<std::string> bytes = FromBase64(value.String());
  if (!bytes) value.Fail("is not base64");
  return *std::move(bytes);
}

LogprobColumn ReadColumn(const JsonValue& value, bool float32) {
  LogprobColumn column(float32, ReadBytes(value));
  if (!column.IsWhole()) value.Fail("ends inside a number");
  return column;
}

std::vector<int> ReadCounts(const JsonValue& value, size_t num_positions) {
  if (!value.IsArray()) {
    return std::vector<int>(num_positions, value.Int(1, kMaxCandidates));
  }
  std::vector<int> counts = value.Ints(0, kMaxCandidates);
  if (counts.size() != num_positions) value.Fail("must have one number for each position");
  return counts;
}

void ReadCandidates(const JsonValue& value, bool float32, std::vector<TokenLogprob>* logprobs) {
  const LogprobColumn top = ReadColumn(value.At("top"), float32);
  const std::string ids = ReadBytes(value.At("top_ids"));
  const std::vector<int> counts = ReadCounts(value.At("top_n"), logprobs->size());
  size_t total = 0;
  for (const int count : counts) total += static_cast<size_t>(count);
  if (top.Size() != total) value.At("top").Fail("does not have as many numbers as top_n says");
  if (ids.size() != total * sizeof(uint32_t)) {
    value.At("top_ids").Fail("does not have as many numbers as top_n says");
  }
  size_t at = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::vector<TokenCandidate>& candidates = (*logprobs)[i].top;
    candidates.reserve(static_cast<size_t>(counts[i]));
    for (int j = 0; j < counts[i]; ++j, ++at) {
      const auto id = std::bit_cast<TokenId>(LittleEndianAt<uint32_t>(ids, at));
      candidates.push_back({id, top[at]});
    }
  }
}

}  // namespace

void WriteLogprobs(const std::vector<TokenLogprob>& logprobs, JsonText* json) {
  const bool float32 = AllFloat32(logprobs);
  LogprobColumn chosen(float32);
  LogprobColumn top(float32);
  std::string ids;
  for (const TokenLogprob& position : logprobs) {
    chosen.Append(position.logprob);
    for (const TokenCandidate& candidate : position.top) {
      top.Append(candidate.logprob);
      AppendLittleEndian(std::bit_cast<uint32_t>(candidate.id), &ids);
    }
  }
  json->BeginObject();
  json->Key("chosen");
  json->Plain(Base64(chosen.bytes()));
  if (!ids.empty()) {
    json->Key("top");
    json->Plain(Base64(top.bytes()));
    json->Key("top_ids");
    json->Plain(Base64(ids));
    WriteCounts(logprobs, json);
  }
  json->Key("type");
  json->Plain(float32 ? "f32" : "f64");
  json->EndObject();
}

std::vector<TokenLogprob> ReadLogprobs(const JsonValue& value) {
  value.CheckFields({"chosen", "top", "top_ids", "top_n", "type"});
  const JsonValue type = value.At("type");
  const bool float32 = type.String() == "f32";
  if (!float32 && type.String() != "f64") type.Fail("must be f32 or f64");
  const LogprobColumn chosen = ReadColumn(value.At("chosen"), float32);
  std::vector<TokenLogprob> logprobs(chosen.Size());
  for (size_t i = 0; i < logprobs.size(); ++i) logprobs[i].logprob = chosen[i];
  if (value.Find("top") || value.Find("top_ids") || value.Find("top_n")) {
    ReadCandidates(value, float32, &logprobs);
  }
  return logprobs;
}

}  // namespace detcheck
