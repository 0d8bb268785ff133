#include "cli/protocol_file.h"

#include <filesystem>

#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {

Protocol OpenProtocol(const std::string& json, const std::string& path) {
  Protocol protocol = ProtocolFromJson(json, path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::string& fixture : protocol.fixtures) {
    if (!NamesFixtureFile(fixture)) continue;
    const std::string file = (folder / fixture).string();
    protocol.fixture_files[fixture] = FixtureFileDigest(file);
    fixture = file;
  }
  try {
    protocol.settings.criterion = WithSchema(protocol.settings.criterion, folder.string());
  } catch (const Error& error) {
    throw Error(ErrorCode::kInput, OneLine(path) + ": criterion: " + error.what());
  }
  return protocol;
}

}  // namespace detcheck
