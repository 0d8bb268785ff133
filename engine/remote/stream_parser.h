#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/remote/http.h"

namespace detcheck {

/// Cuts a stream into events, whatever the pieces in which it comes. Server-sent events as WHATWG
/// has them: byte order mark, lines ended by CR, LF or CRLF, comments, several data lines, event
/// names; ids and retry times are passed over. NDJSON: lines ended by LF or CRLF, blank ones passed
/// over.
class StreamParser {
 public:
  /// Data and name of one event, valid during the call.
  using Sink = std::function<void(std::string_view data, std::string_view name)>;

  /// `format` is kSse or kNdjson.
  explicit StreamParser(BodyFormat format) : format_(format) {}

  /// Hands over the events that end in `bytes`. "[DONE]" of server-sent events is not handed over;
  /// what comes after it is passed over.
  void Feed(std::string_view bytes, const Sink& sink);

  /// The stream has ended as it should: an event that lacks only its last line end or blank line is
  /// handed over.
  void Finish(const Sink& sink);

  bool done() const { return done_; }  ///< "[DONE]" was seen.
  /// Bytes of an event that has not ended.
  size_t unfinished_bytes() const { return line_.size() + data_.size(); }

 private:
  void EndLine(std::string_view line, const Sink& sink);
  void SseLine(std::string_view line, const Sink& sink);
  void EndSseEvent(const Sink& sink);

  BodyFormat format_;
  std::string line_;  ///< Begun, not ended.
  std::string data_;  ///< Data lines of the event so far, each with '\n' behind it.
  std::string name_;
  bool has_data_ = false;
  bool first_line_ = true;       ///< A byte order mark may stand here.
  bool skip_line_feed_ = false;  ///< The last byte was the CR that ended a line.
  bool done_ = false;
};

}  // namespace detcheck
