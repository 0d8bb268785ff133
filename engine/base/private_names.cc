#include "engine/base/private_names.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace detcheck {
namespace {

constexpr std::string_view kPrivate = "(private)";
constexpr size_t kShortestName = 3;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool EndsPath(char c) {
  return c == ' ' || c == '"' || c == '\'' || c == '\n' || c == '\t' || c == ',' || c == ';' ||
         c == '(' || c == ')';
}

std::vector<std::string> PrivateNames() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (name.size() >= kShortestName) names.emplace_back(name);
  };
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER", "HOSTNAME"}) {
    if (const char* value = std::getenv(variable)) add(value);
  }
  if (const passwd* entry = getpwuid(geteuid())) add(entry->pw_name);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    const std::string_view name = host.data();
    add(name);
    add(name.substr(0, name.find('.')));
  }
  return names;
}

bool IsPath(std::string_view word) {
  const auto num_slashes = std::count(word.begin(), word.end(), '/');
  return num_slashes >= 2 ||
         (num_slashes == 1 && (word[0] == '/' || word[0] == '.' || word[0] == '~'));
}

}  // namespace

std::string WithoutPrivateNames(std::string_view text) {
  const std::vector<std::string> names = PrivateNames();
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsWordCharacter(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    result += std::find(names.begin(), names.end(), word) == names.end() ? word : kPrivate;
    at = end;
  }
  return result;
}

std::string PublicName(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return WithoutPrivateNames(path.substr(path.rfind('/') + 1));
}

std::string WithoutPaths(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && !EndsPath(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    result += IsPath(word) ? PublicName(word) : WithoutPrivateNames(word);
    at = end;
  }
  return result;
}

}  // namespace detcheck
