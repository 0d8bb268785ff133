#pragma once

#include <string>
#include <utility>
#include <vector>

namespace detcheck {

/// A server that is to be tested, as the command line has it.
struct RemoteOptions {
  std::string endpoint;      ///< URL; empty: the embedded engine is tested.
  std::string api = "auto";  ///< One of AdapterNames(), or "auto".
  std::string served_model;  ///< Empty: the one that the server lists.
  std::string api_key_env;   ///< Variable of the environment that holds the key; empty: no key.
  double timeout_s = 600.0;  ///< Longest wait for one answer.
  std::string ca_cert;       ///< File of certificate authorities; empty: the system's.
  bool insecure = false;     ///< --insecure
  /// A tokenizer.json, by which prompts become text for servers that take no IDs; empty: none.
  std::string tokenizer;
  /// Manifest fields that the server does not tell, and their values.
  std::vector<std::pair<std::string, std::string>> declared;
};

}  // namespace detcheck
