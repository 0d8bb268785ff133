#include "engine/embedded/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/embedded/safetensors_json.h"

namespace detcheck {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& fact) {
  throw Error(ErrorCode::kInput, path + ": " + fact);
}

/// Element types of the format that have whole bytes.
constexpr std::array<std::pair<std::string_view, uint64_t>, 15> kDTypes = {{{"BOOL", 1},
                                                                            {"U8", 1},
                                                                            {"I8", 1},
                                                                            {"F8_E5M2", 1},
                                                                            {"F8_E4M3", 1},
                                                                            {"I16", 2},
                                                                            {"U16", 2},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"I32", 4},
                                                                            {"U32", 4},
                                                                            {"F32", 4},
                                                                            {"F64", 8},
                                                                            {"I64", 8},
                                                                            {"U64", 8}}};

std::optional<uint64_t> ElementBytes(std::string_view dtype) {
  for (const auto& [name, num_bytes] : kDTypes) {
    if (name == dtype) return num_bytes;
  }
  return std::nullopt;
}

/// Bytes of a tensor; absent where 64 bits do not hold the number.
std::optional<uint64_t> TensorBytes(const std::vector<int64_t>& shape, uint64_t element_bytes) {
  uint64_t num_bytes = element_bytes;
  for (const int64_t dim : shape) {
    if (__builtin_mul_overflow(num_bytes, static_cast<uint64_t>(dim), &num_bytes)) {
      return std::nullopt;
    }
  }
  return num_bytes;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) Fail(path, std::strerror(errno));
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    Fail(path, "not a regular file");
  }
  const auto num_bytes = static_cast<size_t>(status.st_size);
  void* data = num_bytes == 0 ? nullptr : mmap(nullptr, num_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (data == MAP_FAILED) Fail(path, std::strerror(error));
  bytes_ = {static_cast<const char*>(data), num_bytes};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(path) {
  ReadHeader();
}

std::string SafetensorsFile::Sha256Digest() const {
  return Sha256Hex(file_.bytes());
}

void SafetensorsFile::ReadHeader() {
  static_assert(std::endian::native == std::endian::little);
  const std::string_view bytes = file_.bytes();
  uint64_t header_len = 0;
  if (bytes.size() < sizeof(header_len)) {
    Fail(path_, "truncated: " + std::to_string(bytes.size()) +
                    " bytes, shorter than the 8-byte header length");
  }
  std::memcpy(&header_len, bytes.data(), sizeof(header_len));
  if (header_len > bytes.size() - sizeof(header_len)) {
    Fail(path_, "header: length " + std::to_string(header_len) + " is beyond the file of " +
                    std::to_string(bytes.size()) + " bytes");
  }
  const std::string_view header = bytes.substr(sizeof(header_len), header_len);
  const std::string_view data = bytes.substr(sizeof(header_len) + header_len);
  for (HeaderTensor& tensor : ParseSafetensorsHeader(header, path_)) {
    const std::string place = "tensor " + NameInMessage(tensor.name) + ": ";
    const std::optional<uint64_t> element_bytes = ElementBytes(tensor.dtype);
    if (!element_bytes)
      Fail(path_, place + "unknown dtype \"" + NameInMessage(tensor.dtype) + "\"");
    if (tensor.begin > tensor.end) {
      Fail(path_, place + "data_offsets end " + std::to_string(tensor.end) +
                      " is before their begin " + std::to_string(tensor.begin));
    }
    const uint64_t num_bytes = tensor.end - tensor.begin;
    const std::optional<uint64_t> expected = TensorBytes(tensor.shape, *element_bytes);
    if (num_bytes != expected) {
      Fail(path_, place + "data_offsets span " + std::to_string(num_bytes) + " bytes, " +
                      tensor.dtype + " " + ShapeText(tensor.shape) + " has " +
                      (expected ? std::to_string(*expected) : "more than 2^64"));
    }
    if (tensor.end > data.size()) {
      Fail(path_, "truncated: tensor " + NameInMessage(tensor.name) + " ends at data byte " +
                      std::to_string(tensor.end) + ", the file has " + std::to_string(data.size()));
    }
    entries_[tensor.name] = {std::move(tensor.dtype), std::move(tensor.shape),
                             data.substr(tensor.begin, num_bytes)};
  }
  CheckLayout(data);
}

void SafetensorsFile::CheckLayout(std::string_view data) const {
  struct Span {
    uint64_t begin, end;
    const std::string* name;
  };
  std::vector<Span> spans;
  for (const auto& [name, entry] : entries_) {
    const auto begin = static_cast<uint64_t>(entry.bytes.data() - data.data());
    spans.push_back({begin, begin + entry.bytes.size(), &name});
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t end = 0;
  const std::string* last = nullptr;
  for (const Span& span : spans) {
    if (span.begin < end)
      Fail(path_,
           "tensor " + NameInMessage(*span.name) + ": overlaps tensor " + NameInMessage(*last));
    if (span.begin > end) {
      Fail(path_, "tensor " + NameInMessage(*span.name) + ": a hole of " +
                      std::to_string(span.begin - end) + " bytes lies before it");
    }
    end = span.end;
    last = span.name;
  }
  if (end != data.size()) {
    Fail(path_, std::to_string(data.size() - end) + " bytes follow the last tensor");
  }
}

SafetensorsDir::SafetensorsDir(const std::string& dir) {
  const std::string single = dir + "/model.safetensors";
  const std::string index = single + ".index.json";
  if (access(single.c_str(), F_OK) == 0) {
    source_ = single;
    files_.push_back(std::make_unique<SafetensorsFile>(single));
    for (const auto& [name, entry] : files_.back()->entries()) {
      tensors_[name] = {files_.back().get(), &entry};
    }
  } else if (access(index.c_str(), F_OK) == 0) {
    source_ = index;
    OpenIndexed(dir);
  } else {
    Fail(dir, "no weights: neither model.safetensors nor model.safetensors.index.json");
  }
}

void SafetensorsDir::OpenIndexed(const std::string& dir) {
  const MappedFile index(source_);
  const std::map<std::string, std::string> weight_map =
      ParseSafetensorsIndex(index.bytes(), source_);
  std::map<std::string, const SafetensorsFile*> opened;
  for (const auto& [name, file_name] : weight_map) {
    if (opened.contains(file_name)) continue;
    if (file_name.empty() || file_name.find('/') != std::string::npos) {
      Fail(source_, "tensor " + NameInMessage(name) + ": \"" + NameInMessage(file_name) +
                        "\" is not a file name");
    }
    opened[file_name] = nullptr;
  }
  for (auto& [file_name, file] : opened) {
    files_.push_back(std::make_unique<SafetensorsFile>(dir + "/" + file_name));
    file = files_.back().get();
    for (const auto& [name, entry] : file->entries()) {
      const auto listed = weight_map.find(name);
      if (listed == weight_map.end()) continue;
      if (listed->second != file_name) {
        Fail(file->path(), "tensor " + NameInMessage(name) + ": " + source_ + " has it in " +
                               NameInMessage(listed->second));
      }
      tensors_[name] = {file, &entry};
    }
  }
  for (const auto& [name, file_name] : weight_map) {
    if (!tensors_.contains(name))
      Fail(source_, "tensor " + NameInMessage(name) + ": not in " + file_name);
  }
}

SafetensorsDir::Located SafetensorsDir::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) Fail(source_, "tensor " + name + ": missing");
  return found->second;
}

}  // namespace detcheck
