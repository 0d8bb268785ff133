#include "cli/identity.h"

#include <algorithm>

#include "engine/base/sha256.h"

namespace detcheck {

std::string IdentityDigest(const Manifest& subject) {
  std::vector<std::string> lines;
  for (const ManifestField& field : subject) {
    // Lengths keep a name or value that holds a separator from looking like two fields.
    lines.push_back(std::to_string(field.name.size()) + ' ' + std::to_string(field.value.size()) +
                    ' ' + field.name + ' ' + field.value + '\n');
  }
  std::sort(lines.begin(), lines.end());
  Sha256 digest;
  for (const std::string& line : lines) digest.Update(line);
  return digest.HexDigest();
}

}  // namespace detcheck
