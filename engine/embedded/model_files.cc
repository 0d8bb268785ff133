#include "engine/embedded/model_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/private_names.h"
#include "engine/base/sha256.h"
#include "engine/embedded/safetensors.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRevisionDigits = 40;

struct Origin {
  std::string id;
  std::string revision;
};

bool IsRevision(std::string_view text) {
  return text.size() == kRevisionDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

fs::path Canonical(const std::string& dir) {
  std::error_code ignored;
  const fs::path path = fs::weakly_canonical(dir, ignored);
  return path.has_filename() ? path : path.parent_path();
}

// "models--Qwen--Qwen3-0.6B" is "Qwen/Qwen3-0.6B"; empty for any other name.
std::string IdOfCacheFolder(const std::string& name) {
  constexpr std::string_view kPrefix = "models--";
  const size_t split = name.find("--", kPrefix.size());
  if (!name.starts_with(kPrefix) || split == std::string::npos) return "";
  return name.substr(kPrefix.size(), split - kPrefix.size()) + '/' + name.substr(split + 2);
}

// The hub's client keeps, beside what it downloads into a directory, a file of which the first
// line is the revision.
std::string DownloadedRevision(const fs::path& dir) {
  const fs::path file = dir / ".cache" / "huggingface" / "download" / "config.json.metadata";
  if (!IsFile(file)) return "";
  const MappedFile mapped(file.string());
  const std::string_view line = mapped.bytes().substr(0, mapped.bytes().find('\n'));
  return IsRevision(line) ? std::string(line) : "";
}

Origin OriginOf(const fs::path& dir) {
  if (dir.parent_path().filename() == "snapshots" && IsRevision(dir.filename().string())) {
    const std::string folder = dir.parent_path().parent_path().filename().string();
    if (const std::string id = IdOfCacheFolder(folder); !id.empty()) {
      return {id, dir.filename().string()};
    }
  }
  return {"", DownloadedRevision(dir)};
}

std::string FileDigest(const fs::path& file) {
  return IsFile(file) ? Sha256Hex(MappedFile(file.string()).bytes()) : "";
}

std::string ChatTemplateDigest(const fs::path& dir) {
  if (IsFile(dir / "chat_template.jinja")) return FileDigest(dir / "chat_template.jinja");
  const fs::path file = dir / "tokenizer_config.json";
  if (!IsFile(file)) return "";
  const MappedFile mapped(file.string());
  const auto json = nlohmann::json::parse(mapped.bytes(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw Error(ErrorCode::kInput, file.string() + ": not JSON");
  if (!json.is_object() || !json.contains("chat_template")) return "";
  const nlohmann::json& text = json["chat_template"];
  return text.is_string() ? Sha256Hex(text.get_ref<const std::string&>()) : Sha256Hex(text.dump());
}

ManifestField Field(const char* name, std::string value) {
  const FieldSource source = value.empty() ? FieldSource::kUnknown : FieldSource::kObserved;
  return {name, std::move(value), source};
}

}  // namespace

Manifest DescribeModelFiles(const std::string& dir) {
  const fs::path path = Canonical(dir);
  const Origin origin = OriginOf(path);
  return {Field("model.id", origin.id), Field("model.revision", origin.revision),
          Field("model.config_sha256", FileDigest(path / "config.json")),
          Field("model.tokenizer_sha256", FileDigest(path / "tokenizer.json")),
          Field("model.chat_template_sha256", ChatTemplateDigest(path))};
}

std::string ModelNameOf(const std::string& dir) {
  const fs::path path = Canonical(dir);
  const std::string id = OriginOf(path).id;
  return PublicName(id.empty() ? path.string() : id);
}

}  // namespace detcheck
