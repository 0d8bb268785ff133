#include "reports/html_data.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "reports/attribution.h"
#include "reports/console_words.h"
#include "reports/json_text.h"
#include "reports/packed_logprobs.h"

namespace detcheck {
namespace {

/// Positions before and after a place of interest whose candidates are kept.
constexpr int kCandidateMargin = 3;
constexpr size_t kMaxCommonBytes = 80;
constexpr size_t kMaxOwnBytes = 160;

bool IsCharacterStart(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

size_t CharacterAtOrBefore(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && at < text.size() && !IsCharacterStart(text[at])) --at;
  return at;
}

std::string Piece(std::string_view text, size_t begin, size_t end) {
  begin = CharacterAtOrBefore(text, begin);
  end = std::max(begin, CharacterAtOrBefore(text, end));
  return (begin > 0 ? "…" : "") + Printable(text.substr(begin, end - begin)) +
         (end < text.size() ? "…" : "");
}

// Numbers things in order of first appearance.
template <typename Value>
class Numbered {
 public:
  int NumberOf(std::string key, const Value& value) {
    const auto [it, is_new] =
        numbers_.try_emplace(std::move(key), static_cast<int>(values_.size()));
    if (is_new) values_.push_back(&value);
    return it->second;
  }
  const std::vector<const Value*>& values() const { return values_; }

 private:
  std::unordered_map<std::string, int> numbers_;
  std::vector<const Value*> values_;
};

std::string BytesOf(const std::vector<TokenId>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId)};
}

std::string BytesOf(const std::vector<TokenLogprob>& logprobs) {
  std::string bytes;
  for (const TokenLogprob& position : logprobs) {
    bytes.append(reinterpret_cast<const char*>(&position.logprob), sizeof(double));
  }
  return bytes;
}

std::vector<TokenLogprob> ChosenOnly(const std::vector<TokenLogprob>& logprobs) {
  std::vector<TokenLogprob> chosen;
  chosen.reserve(logprobs.size());
  for (const TokenLogprob& position : logprobs) chosen.push_back({position.logprob, {}});
  return chosen;
}

class DataWriter {
 public:
  DataWriter(const Report& report, const std::vector<HtmlCell>& cells)
      : report_(report), cells_(cells) {}

  std::string Write() {
    json_.BeginObject();
    json_.Key("cells");
    json_.BeginArray();
    for (const HtmlCell& cell : cells_) WriteCell(cell);
    json_.EndArray();
    WriteOutputs();
    WriteRecords();
    WritePlan();
    WriteTraces();
    json_.EndObject();
    return json_.Take();
  }

 private:
  void WriteCell(const HtmlCell& cell) {
    json_.BeginObject();
    int place = 0;
    for (const int sample : cell.variants.front().samples) {
      if (sample == cell.reference) json_.Field("reference", place);
      ++place;
    }
    WriteSamples(cell);
    const std::vector<std::string> names = NamesOfVariants(cell);
    json_.Key("variants");
    json_.BeginArray();
    for (size_t i = 0; i < cell.variants.size(); ++i) WriteVariant(cell, i, names[i]);
    json_.EndArray();
    json_.EndObject();
  }

  template <typename Write>
  void Column(const HtmlCell& cell, std::string_view name, const Write& write) {
    json_.Key(name);
    json_.BeginArray();
    for (const HtmlVariant& variant : cell.variants) {
      for (const int sample : variant.samples) write(variant, cell.samples[sample]);
    }
    json_.EndArray();
  }

  void WriteSamples(const HtmlCell& cell) {
    json_.Key("samples");
    json_.BeginObject();
    Column(cell, "item",
           [&](const HtmlVariant&, const Sample& sample) { json_.Int(sample.ref.item); });
    if (std::any_of(cell.samples.begin(), cell.samples.end(),
                    [](const Sample& sample) { return sample.IsPrefix(); })) {
      Column(cell, "len", [&](const HtmlVariant&, const Sample& sample) {
        json_.Int(std::ssize(sample.answer->token_ids));
      });
    }
    Column(cell, "record",
           [&](const HtmlVariant&, const Sample& sample) { json_.Int(sample.ref.record); });
    Column(cell, "size", [&](const HtmlVariant&, const Sample& sample) {
      json_.Int(
          sample.answer->witness.formed_size.value_or(static_cast<int>(sample.step->items.size())));
    });
    Column(cell, "where", [&](const HtmlVariant&, const Sample& sample) {
      json_.String(WhereItRan(report_, sample.ref));
    });
    json_.EndObject();
  }

  void WriteVariant(const HtmlCell& cell, size_t number, const std::string& name) {
    const HtmlVariant& variant = cell.variants[number];
    const Completion& answer = *cell.samples[variant.first].answer;
    json_.BeginObject();
    json_.Field("count", std::ssize(variant.samples));
    json_.Field("name", name);
    json_.Field("output", outputs_.NumberOf(BytesOf(answer.token_ids), answer.token_ids));
    if (variant.trace >= 0) {
      json_.Field("trace", traces_.NumberOf(BytesOf(answer.logprobs), answer.logprobs));
    }
    if (variant.divergence) WriteDifference(cell, variant);
    json_.EndObject();
  }

  void WriteDifference(const HtmlCell& cell, const HtmlVariant& variant) {
    const Divergence& divergence = *variant.divergence;
    const Completion& expected = *cell.samples[cell.reference].answer;
    const Completion& actual = *cell.samples[variant.first].answer;
    if (divergence.cause != Cause::kNone) {
      json_.Field("cause", ToString(divergence.cause) + ": " + CauseInWords(divergence.cause));
    }
    json_.Field("index", divergence.index);
    json_.Field("lp_index", divergence.first_logprob_index);
    WriteTops("ref_tops", expected, divergence);
    WriteTexts(expected, actual);
    WriteTops("tops", actual, divergence);
  }

  void WriteTops(std::string_view name, const Completion& answer, const Divergence& divergence) {
    if (answer.logprobs.empty()) return;
    json_.Key(name);
    json_.BeginArray();
    for (const auto& place : {divergence.first_logprob_index, divergence.index}) {
      if (place) WriteTopsAround(*place, answer);
    }
    json_.EndArray();
  }

  void WriteTopsAround(int place, const Completion& answer) {
    const auto size = static_cast<int>(answer.logprobs.size());
    const int begin = std::max(0, place - kCandidateMargin);
    const int end = std::min(size, place + kCandidateMargin + 1);
    if (begin >= end) return;
    json_.BeginObject();
    json_.Field("at", begin);
    json_.Key("logprobs");
    WriteLogprobs({answer.logprobs.begin() + begin, answer.logprobs.begin() + end}, &json_);
    json_.EndObject();
  }

  void WriteTexts(const Completion& expected, const Completion& actual) {
    if (!expected.text || !actual.text || *expected.text == *actual.text) return;
    const std::string& a = *expected.text;
    const std::string& b = *actual.text;
    const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    const size_t at = CharacterAtOrBefore(a, static_cast<size_t>(parted - a.begin()));
    json_.Key("text");
    json_.BeginArray();
    const size_t begin = at > kMaxCommonBytes ? at - kMaxCommonBytes : 0;
    json_.String(Piece(std::string_view(a).substr(0, at), begin, at));
    for (const std::string& text : {a, b}) {
      json_.String(Piece(std::string_view(text).substr(at), 0, kMaxOwnBytes));
    }
    json_.EndArray();
  }

  void WriteOutputs() {
    json_.Key("outputs");
    json_.BeginArray();
    for (const std::vector<TokenId>* ids : outputs_.values()) json_.Ints(*ids);
    json_.EndArray();
  }

  void WriteTraces() {
    json_.Key("traces");
    json_.BeginArray();
    for (const std::vector<TokenLogprob>* logprobs : traces_.values()) {
      WriteLogprobs(ChosenOnly(*logprobs), &json_);
    }
    json_.EndArray();
  }

  void WriteRecords() {
    json_.Key("records");
    json_.BeginArray();
    for (const StepRecord& record : report_.transcript.records) {
      json_.BeginObject();
      json_.Field("attempt", record.attempt);
      if (!record.engine_steps.empty()) WriteSpans(record.engine_steps);
      json_.Field("step", record.step);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteSpans(const std::vector<EngineStepSpan>& spans) {
    json_.Key("spans");
    json_.BeginArray();
    for (const EngineStepSpan& span : spans) {
      json_.BeginArray();
      json_.Int(span.first_step);
      json_.Int(span.num_steps);
      json_.BeginArray();
      for (const EngineStepSpan::Row& row : span.rows) {
        json_.Int(row.item);
        json_.Int(row.decode ? -row.num_tokens : row.num_tokens);
      }
      json_.EndArray();
      json_.EndArray();
    }
    json_.EndArray();
  }

  void WritePlan() {
    json_.Key("requests");
    json_.BeginArray();
    for (const PlannedRequest& request : report_.plan.requests) {
      json_.String(Printable(request.id));
    }
    json_.EndArray();
    json_.Key("steps");
    json_.BeginArray();
    for (const Step& step : report_.plan.steps) {
      json_.BeginObject();
      json_.Field("arm", ToString(step.arm));
      json_.Key("items");
      json_.BeginArray();
      for (const PlannedItem& item : step.items) json_.Int(item.request);
      json_.EndArray();
      json_.Field("label", Printable(step.label));
      json_.EndObject();
    }
    json_.EndArray();
  }

  const Report& report_;
  const std::vector<HtmlCell>& cells_;
  JsonText json_;
  Numbered<std::vector<TokenId>> outputs_;
  Numbered<std::vector<TokenLogprob>> traces_;
};

}  // namespace

std::string HtmlData(const Report& report, const std::vector<HtmlCell>& cells) {
  const std::string json = DataWriter(report, cells).Write();
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace detcheck
