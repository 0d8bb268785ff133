#include "engine/embedded/safetensors_weights.h"

#include <filesystem>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/embedded/safetensors_json.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

std::optional<DType> UsableDType(const std::string& name) {
  if (name == "BF16") return DType::kBf16;
  if (name == "F16") return DType::kF16;
  if (name == "F32") return DType::kF32;
  return std::nullopt;
}

std::string WeightsDigest(const SafetensorsDir& tensors) {
  if (tensors.files().size() == 1) return tensors.files().front()->Sha256Digest();
  std::string lines;
  for (const auto& file : tensors.files()) {
    const std::string name = std::filesystem::path(file->path()).filename().string();
    lines += file->Sha256Digest() + "  " + name + "\n";
  }
  return Sha256Hex(lines);
}

}  // namespace

void SafetensorsWeights::Read(const std::string& name, const std::vector<int64_t>& shape,
                              DType dtype, void* out) {
  const auto [file, entry] = tensors_.Find(name);
  const auto fail = [&name, path = file->path()](const std::string& fact) {
    throw Error(ErrorCode::kInput, path + ": tensor " + name + ": " + fact);
  };
  if (entry->shape != shape) {
    fail("shape " + ShapeText(entry->shape) + ", expected " + ShapeText(shape));
  }
  const std::optional<DType> stored = UsableDType(entry->dtype);
  if (!stored) fail("dtype " + entry->dtype + " is not BF16, F16 or F32");
  const auto count = static_cast<int64_t>(entry->bytes.size() / DTypeBytes(*stored));
  const int64_t bad = ConvertElements(*stored, entry->bytes.data(), dtype, out, count);
  if (bad >= 0) {
    fail("element " + std::to_string(bad) + " is not finite in " + DTypeName(dtype));
  }
}

Manifest SafetensorsWeights::Describe() {
  return {{"model.weights_sha256", WeightsDigest(tensors_), FieldSource::kObserved}};
}

}  // namespace detcheck
