#include "engine/remote/stream_parser.h"

namespace detcheck {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kDone = "[DONE]";

/// Where the first line of `bytes` ends, or npos.
size_t LineEnd(std::string_view bytes, BodyFormat format) {
  const size_t line_feed = bytes.find('\n');
  if (format != BodyFormat::kSse) return line_feed;
  const size_t carriage_return = bytes.substr(0, line_feed).find('\r');
  return carriage_return == std::string_view::npos ? line_feed : carriage_return;
}

}  // namespace

void StreamParser::Feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (skip_line_feed_) {
      skip_line_feed_ = false;
      if (bytes[0] == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const size_t end = LineEnd(bytes, format_);
    if (end == std::string_view::npos) {
      line_ += bytes;
      return;
    }
    skip_line_feed_ = bytes[end] == '\r';
    if (line_.empty()) {
      EndLine(bytes.substr(0, end), sink);
    } else {
      line_ += bytes.substr(0, end);
      // Taken out first: the event must not count as unfinished while it is handed over.
      std::string line;
      line.swap(line_);
      EndLine(line, sink);
    }
    bytes.remove_prefix(end + 1);
  }
}

void StreamParser::Finish(const Sink& sink) {
  if (!line_.empty()) {
    std::string line;
    line.swap(line_);
    EndLine(line, sink);
  }
  if (has_data_) EndSseEvent(sink);
}

void StreamParser::EndLine(std::string_view line, const Sink& sink) {
  if (first_line_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;
  if (format_ == BodyFormat::kSse) {
    SseLine(line, sink);
    return;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find_first_not_of(" \t") != std::string_view::npos) sink(line, {});
}

void StreamParser::SseLine(std::string_view line, const Sink& sink) {
  if (line.empty()) {
    EndSseEvent(sink);
    return;
  }
  const size_t colon = line.find(':');
  if (colon == 0) return;  // A comment.
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    has_data_ = true;
    data_ += value;
    data_ += '\n';
  } else if (field == "event") {
    name_ = value;
  }
}

void StreamParser::EndSseEvent(const Sink& sink) {
  if (has_data_ && !done_) {
    std::string_view data = data_;
    data.remove_suffix(1);  // The last line's '\n'.
    if (data == kDone) {
      done_ = true;
    } else {
      sink(data, name_);
    }
  }
  data_.clear();
  name_.clear();
  has_data_ = false;
}

}  // namespace detcheck
