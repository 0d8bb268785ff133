#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace detcheck {

/// A safetensors file of this JSON header and these data bytes, whatever they are.
inline std::string SafetensorsBytes(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const uint64_t header_len = header.size();
  std::memcpy(bytes.data(), &header_len, sizeof(header_len));
  return bytes + header + data;
}

/// `values` as little-endian float32.
inline std::string FloatBytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct FloatTensor {
  std::string name;
  std::string shape;  ///< As in JSON: "[2, 3]".
  std::vector<float> values;
};

/// A correct file of F32 tensors, in the order given.
inline std::string SafetensorsBytes(const std::vector<FloatTensor>& tensors) {
  std::string header;
  std::string data;
  for (const FloatTensor& tensor : tensors) {
    const std::string begin = std::to_string(data.size());
    data += FloatBytes(tensor.values);
    header += (header.empty() ? "{\"" : ", \"") + tensor.name + R"(": {"dtype": "F32", "shape": )" +
              tensor.shape + ", \"data_offsets\": [" + begin + ", " + std::to_string(data.size()) +
              "]}";
  }
  return SafetensorsBytes(header + "}", data);
}

}  // namespace detcheck
