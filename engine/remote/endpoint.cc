#include "engine/remote/endpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/base/error.h"
#include "engine/remote/options.h"

namespace detcheck {
namespace {

constexpr int kHttpPort = 80;
constexpr int kHttpsPort = 443;
constexpr size_t kMaxMessageBytes = 200;

[[noreturn]] void Refuse(std::string_view url, const std::string& fact) {
  throw Error(ErrorCode::kUsage, "endpoint " + UrlInMessage(url) + ": " + fact);
}

bool IsControlOrSpace(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7F;
}

int ReadPort(std::string_view text, std::string_view url) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535) {
    Refuse(url, "the port is not a number in 1 .. 65535");
  }
  return port;
}

/// Reads "host:port", "host" or "[address]:port".
void ReadAuthority(std::string_view authority, std::string_view url, Endpoint* endpoint) {
  std::string_view port;
  std::string_view host = authority;
  if (authority.starts_with('[')) {
    const size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) Refuse(url, "']' is missing");
    host = authority.substr(1, bracket - 1);
    const std::string_view rest = authority.substr(bracket + 1);
    if (!rest.empty() && rest[0] != ':') Refuse(url, "'" + std::string(rest) + "' after ']'");
    if (!rest.empty()) port = rest.substr(1);
    if (rest == ":") Refuse(url, "the port is missing");
  } else if (const size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    if (port.empty()) Refuse(url, "the port is missing");
  }
  if (host.empty()) Refuse(url, "the host is missing");
  endpoint->host = host;
  endpoint->port = port.empty() ? (endpoint->https ? kHttpsPort : kHttpPort) : ReadPort(port, url);
}

std::string Authority(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

std::string Label(const Endpoint& endpoint) {
  const std::string scheme = endpoint.https ? "https" : "http";
  const bool loopback = endpoint.host == "localhost" || endpoint.host == "::1" ||
                        (endpoint.host.starts_with("127.") &&
                         endpoint.host.find_first_not_of("0123456789.") == std::string::npos);
  if (loopback) return scheme + "://" + Authority(endpoint);
  return scheme + " server, port " + std::to_string(endpoint.port);
}

}  // namespace

std::string Endpoint::Url(std::string_view path) const {
  return (https ? "https://" : "http://") + Authority(*this) + base_path + std::string(path);
}

Endpoint ParseEndpoint(std::string_view url) {
  Endpoint endpoint;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    endpoint.https = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    Refuse(url, "does not begin with http:// or https://");
  }
  if (std::any_of(rest.begin(), rest.end(), IsControlOrSpace)) {
    Refuse(url, "has a blank or a control character");
  }
  if (rest.find('?') != std::string_view::npos) Refuse(url, "has a query");
  if (rest.find('#') != std::string_view::npos) Refuse(url, "has a fragment");
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (rest.substr(0, slash).find('@') != std::string_view::npos) {
    Refuse(url, "has a user name; keys are read from an environment variable");
  }
  ReadAuthority(rest.substr(0, slash), url, &endpoint);
  std::string_view base_path = rest.substr(slash);
  while (base_path.ends_with('/')) base_path.remove_suffix(1);
  endpoint.base_path = base_path;
  endpoint.label = Label(endpoint);
  return endpoint;
}

Endpoint EndpointOf(const RemoteOptions& options) {
  Endpoint endpoint = ParseEndpoint(options.endpoint);
  endpoint.tls = {options.ca_cert, options.insecure};
  if (!options.api_key_env.empty()) endpoint.bearer_key = KeyFromEnvironment(options.api_key_env);
  return endpoint;
}

std::string KeyFromEnvironment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr || *value == '\0') {
    throw Error(ErrorCode::kUsage, "environment variable " + variable + ": not set, or empty");
  }
  std::string key = value;
  if (std::any_of(key.begin(), key.end(), IsControlOrSpace)) {
    throw Error(ErrorCode::kUsage,
                "environment variable " + variable + ": has a blank or a control character");
  }
  return key;
}

std::string UrlInMessage(std::string_view url) {
  std::string shown(url.substr(0, url.find_first_of("?#")));
  const size_t scheme = shown.find("//");
  const size_t host = scheme == std::string::npos ? 0 : scheme + 2;
  // Up to the last '@', wherever it stands: a password may hold a '/'.
  if (const size_t at = shown.rfind('@'); at != std::string::npos && at >= host) {
    shown.erase(host, at + 1 - host);
  }
  if (shown.size() > kMaxMessageBytes)
    shown.replace(kMaxMessageBytes - 3, std::string::npos, "...");
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) c = '?';
  }
  return shown;
}

}  // namespace detcheck
