#pragma once

// Internal to the HTML page.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "reports/judgement.h"

namespace detcheck {

/// Writes HTML front to back. Text and attribute values are made printable and escaped here, and
/// nowhere else; names of elements and attributes are ours.
class HtmlText {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void Open(std::string_view name, Attributes attributes = {});
  void Close(std::string_view name);
  void Text(std::string_view text);
  /// An element that holds text and nothing else.
  void Element(std::string_view name, std::string_view text) { Element(name, {}, text); }
  void Element(std::string_view name, Attributes attributes, std::string_view text);
  /// HTML as it is.
  void Raw(std::string_view html) { html_ += html; }

  std::string Take() { return std::move(html_); }

 private:
  void Append(std::string_view text);

  std::string html_;
};

/// The verdict in a coloured box, its sign before it: "✕ fail".
void AppendBadge(Verdict verdict, HtmlText* html);

/// Rows of names and values, <dl class="facts">: opened and closed by the caller.
void AppendFact(std::string_view name, std::string_view value, HtmlText* html);

}  // namespace detcheck
