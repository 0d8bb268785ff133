#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace detcheck {

/// One tensor of a safetensors header, not yet checked against the file.
struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;  ///< Each >= 0.
  uint64_t begin = 0;          ///< data_offsets: bytes from the end of the header.
  uint64_t end = 0;
};

/// Tensors of the JSON header `text` of the file `path`; "__metadata__" is checked and left out.
/// Throws Error(kInput) "PATH: PLACE: FACT" for what the format does not allow, duplicate and
/// unknown fields included.
std::vector<HeaderTensor> ParseSafetensorsHeader(std::string_view text, const std::string& path);

/// "weight_map" of model.safetensors.index.json: tensor name to file name. Errors as above.
std::map<std::string, std::string> ParseSafetensorsIndex(std::string_view text,
                                                         const std::string& path);

/// `text` from a file, fit for one line of a message: control characters as '?', at most 200 bytes.
std::string NameInMessage(std::string_view text);

/// "[2, 3]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace detcheck
