#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace detcheck {

/// A file mapped into memory for reading.
class MappedFile {
 public:
  /// Throws Error(kInput) where it cannot be opened. An empty file has no bytes.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// One tensor as its file has it.
struct SafetensorsEntry {
  std::string dtype;           ///< As in the file: "BF16", "F16", "F32", "I64", ...
  std::vector<int64_t> shape;  ///< Empty: a scalar.
  std::string_view bytes;      ///< Row-major, little-endian; unaligned; lives as long as the file.
};

/// A .safetensors file (format: github.com/huggingface/safetensors, README "Format"), read
/// strictly: 8 bytes little-endian header length, a JSON header, then the tensors without gaps or
/// overlaps.
class SafetensorsFile {
 public:
  /// Throws Error(kInput) "PATH: PLACE: FACT" for anything that is not as the format says.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  /// Of the whole file; reads all of it.
  std::string Sha256Digest() const;

 private:
  void ReadHeader();
  void CheckLayout(std::string_view data) const;

  std::string path_;
  MappedFile file_;
  std::map<std::string, SafetensorsEntry> entries_;
};

/// The weights of a model directory: model.safetensors, else the files that
/// model.safetensors.index.json lists.
class SafetensorsDir {
 public:
  struct Located {
    const SafetensorsFile* file;
    const SafetensorsEntry* entry;
  };

  /// Throws Error(kInput) where the directory has neither, or for the first thing that is wrong.
  explicit SafetensorsDir(const std::string& dir);

  /// Throws Error(kInput) where there is no tensor `name`.
  Located Find(const std::string& name) const;
  /// Sorted by name.
  const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }

 private:
  void OpenIndexed(const std::string& dir);

  std::string source_;  ///< The file that says which tensors there are.
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Located> tensors_;
};

}  // namespace detcheck
