#include "engine/remote/stream_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace detcheck {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;  // Data, name.

/// The events of `text`, fed in pieces that end at `cuts` (ascending).
Events EventsOf(BodyFormat format, std::string_view text, const std::vector<size_t>& cuts,
                bool finish = true) {
  Events events;
  const StreamParser::Sink sink = [&](std::string_view data, std::string_view name) {
    events.emplace_back(data, name);
  };
  StreamParser parser(format);
  size_t begin = 0;
  for (const size_t cut : cuts) {
    parser.Feed(text.substr(begin, cut - begin), sink);
    begin = cut;
  }
  parser.Feed(text.substr(begin), sink);
  if (finish) parser.Finish(sink);
  return events;
}

/// Expects `wanted` however the text is cut in two, and byte by byte.
void ExpectEvents(BodyFormat format, std::string_view text, const Events& wanted) {
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(EventsOf(format, text, {cut}), wanted) << "cut at " << cut;
  }
  std::vector<size_t> everywhere;
  for (size_t cut = 1; cut < text.size(); ++cut) everywhere.push_back(cut);
  EXPECT_EQ(EventsOf(format, text, everywhere), wanted);
}

TEST(SseTest, EveryLineEnd) {
  const std::string lines = "data: one\n\n: ping\n\ndata: two\n\n";
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (const char c : lines) text += c == '\n' ? end : std::string_view(&c, 1);
    ExpectEvents(BodyFormat::kSse, text, {{"one", ""}, {"two", ""}});
  }
}

TEST(SseTest, MixedLineEnds) {
  ExpectEvents(BodyFormat::kSse, "data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r\n",
               {{"a\nb\nc", ""}, {"d", ""}});
}

TEST(SseTest, SeveralDataLinesAndNames) {
  ExpectEvents(BodyFormat::kSse,
               "event: token\nid: 7\nretry: 100\ndata: {\"a\":\ndata:1}\nunknown: x\n\n"
               "event: lost\n\n"
               "data: last\n\n",
               {{"{\"a\":\n1}", "token"}, {"last", ""}});
}

TEST(SseTest, OneBlankAfterTheColonIsDropped) {
  ExpectEvents(BodyFormat::kSse, "data:x\n\ndata:  y\n\ndata\n\ndata:\n\n",
               {{"x", ""}, {" y", ""}, {"", ""}, {"", ""}});
}

TEST(SseTest, ByteOrderMarkOnlyAtTheStart) {
  ExpectEvents(BodyFormat::kSse,
               "\xEF\xBB\xBF"
               "data: a\n\n\xEF\xBB\xBF"
               "data: b\n\n",
               {{"a", ""}});
}

TEST(SseTest, DoneIsNoEvent) {
  ExpectEvents(BodyFormat::kSse, "data: a\n\ndata: [DONE]\n\ndata: after\n\n", {{"a", ""}});
  StreamParser parser(BodyFormat::kSse);
  const StreamParser::Sink none = [](std::string_view, std::string_view) {};
  parser.Feed("data: [DON", none);
  EXPECT_FALSE(parser.done());
  parser.Feed("E]\n\n", none);
  EXPECT_TRUE(parser.done());
}

TEST(SseTest, LastEventWithoutItsBlankLine) {
  for (const std::string_view end : {"", "\n", "\r\n"}) {
    ExpectEvents(BodyFormat::kSse, "data: a\n\ndata: b" + std::string(end), {{"a", ""}, {"b", ""}});
  }
}

TEST(SseTest, WhatHasNotEndedIsCounted) {
  StreamParser parser(BodyFormat::kSse);
  const StreamParser::Sink none = [](std::string_view, std::string_view) {};
  parser.Feed("data: a\n\n", none);
  EXPECT_EQ(parser.unfinished_bytes(), 0u);
  parser.Feed("data: {\"half", none);
  EXPECT_EQ(parser.unfinished_bytes(), 12u);
}

TEST(SseTest, BytesThatAreNotUtf8AreKept) {
  ExpectEvents(BodyFormat::kSse, "data: \xFF\xC3\n\n", {{"\xFF\xC3", ""}});
}

TEST(NdjsonTest, LinesHoweverTheyEnd) {
  ExpectEvents(BodyFormat::kNdjson, "{\"a\":1}\n\n{\"b\":2}\r\n \r\n{\"c\":3}",
               {{"{\"a\":1}", ""}, {"{\"b\":2}", ""}, {"{\"c\":3}", ""}});
  ExpectEvents(BodyFormat::kNdjson, "\xEF\xBB\xBF{}\n", {{"{}", ""}});
  // A carriage return is no line end here.
  ExpectEvents(BodyFormat::kNdjson, "a\rb\n", {{"a\rb", ""}});
}

TEST(NdjsonTest, HalfALineIsNotHandedOverUnlessTheStreamEnds) {
  EXPECT_EQ(EventsOf(BodyFormat::kNdjson, "{}\n{\"ha", {}, false), (Events{{"{}", ""}}));
}

}  // namespace
}  // namespace detcheck
