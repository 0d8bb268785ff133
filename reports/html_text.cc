#include "reports/html_text.h"

#include "reports/console_words.h"

namespace detcheck {
namespace {

std::string_view SignOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "✓";
    case Verdict::kFail:
      return "✕";
    case Verdict::kInconclusive:
      return "?";
    case Verdict::kUnsupported:
      return "–";
    case Verdict::kError:
      return "!";
  }
  return "";
}

}  // namespace

void HtmlText::Append(std::string_view text) {
  for (const char c : Printable(text)) {
    switch (c) {
      case '&':
        html_ += "&amp;";
        break;
      case '<':
        html_ += "&lt;";
        break;
      case '>':
        html_ += "&gt;";
        break;
      case '"':
        html_ += "&quot;";
        break;
      case '\'':
        html_ += "&#39;";
        break;
      default:
        html_ += c;
    }
  }
}

void HtmlText::Open(std::string_view name, Attributes attributes) {
  html_ += '<';
  html_ += name;
  for (const auto& [attribute, value] : attributes) {
    html_ += ' ';
    html_ += attribute;
    html_ += "=\"";
    Append(value);
    html_ += '"';
  }
  html_ += '>';
}

void HtmlText::Close(std::string_view name) {
  html_ += "</";
  html_ += name;
  html_ += ">\n";
}

void HtmlText::Text(std::string_view text) {
  Append(text);
}

void HtmlText::Element(std::string_view name, Attributes attributes, std::string_view text) {
  Open(name, attributes);
  Append(text);
  Close(name);
}

void AppendBadge(Verdict verdict, HtmlText* html) {
  const std::string word = ToString(verdict);
  html->Open("span", {{"class", "badge " + word}});
  html->Element("span", {{"aria-hidden", "true"}}, SignOf(verdict));
  html->Text(" " + word);
  html->Close("span");
}

void AppendFact(std::string_view name, std::string_view value, HtmlText* html) {
  html->Open("div");
  html->Element("dt", name);
  html->Element("dd", value);
  html->Close("div");
}

}  // namespace detcheck
