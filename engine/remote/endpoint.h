#pragma once

#include <string>
#include <string_view>

namespace detcheck {

/// How the certificate of an https server is judged.
struct TlsOptions {
  std::string ca_cert_file;  ///< PEM file of authorities to trust; empty: the system's.
  bool insecure = false;     ///< Neither certificate nor host name is looked at.
};

/// One server. Holds a secret (`bearer_key`): never print it whole; `label` is what may be shown.
struct Endpoint {
  bool https = false;
  std::string host;  ///< Name or address; an IPv6 address without its brackets.
  int port = 0;
  std::string base_path;  ///< Empty, or "/v2/models": begins with '/', does not end with one.
  TlsOptions tls;
  bool proxy_from_environment = false;  ///< Else http_proxy and the like are not looked at.
  std::string bearer_key;               ///< Empty: no Authorization header. Secret.
  /// For messages and reports: "http://127.0.0.1:8000" for this machine, "https server, port 443"
  /// for any other. No host name, no path, no key.
  std::string label;

  /// `path` ("/v1/models?x=y") at this server: "http://[::1]:8000/base/v1/models?x=y".
  std::string Url(std::string_view path) const;
};

/// Reads "http://host:port/base" or "https://…"; the port may be left out (80, 443), a '/' at the
/// end is dropped. Throws Error(kUsage), with nothing of a password in the message, where it is no
/// such URL, or has a user, a query or a fragment.
Endpoint ParseEndpoint(std::string_view url);

struct RemoteOptions;
/// The server that the options name, with its key. Throws as ParseEndpoint and KeyFromEnvironment.
Endpoint EndpointOf(const RemoteOptions& options);

/// The key in the environment variable `variable`. Throws Error(kUsage) where it is not set, empty,
/// or has a character that no header may have.
std::string KeyFromEnvironment(const std::string& variable);

/// A URL, or the target of a redirect, as it may be shown: no user, password, query or fragment,
/// control characters as '?', at most 200 bytes.
std::string UrlInMessage(std::string_view url);

}  // namespace detcheck
