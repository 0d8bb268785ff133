#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// The fields of a JSON object in a request. A field that is null counts as absent. All throw
/// ApiError(400) that names the field where its value is not what is asked for.
class JsonFields {
 public:
  /// `object` must outlive this and be an object; `name` begins the names of its fields in
  /// messages ("sampling_params."), empty for the body.
  JsonFields(const nlohmann::json& object, std::string name);

  bool Has(const char* field) const;
  /// Null where the field is absent.
  const nlohmann::json* Find(const char* field) const;

  int64_t Whole(const char* field, int64_t absent, int64_t low, int64_t high) const;
  std::optional<int64_t> MaybeWhole(const char* field, int64_t low, int64_t high) const;
  /// A finite number.
  double Real(const char* field, double absent, double low, double high) const;
  bool Bool(const char* field, bool absent) const;
  std::string Text(const char* field, const std::string& absent) const;
  /// Nothing where the field is absent.
  std::optional<JsonFields> Object(const char* field) const;

  /// Refuses a value other than `neutral` (a whole number), which is all that this engine has.
  void RequireNeutral(const char* field, double neutral) const;
  /// Refuses a value other than an empty list or object, an empty text or false.
  void RequireEmpty(const char* field) const;
  /// Refuses fields that are not among `known`.
  void RequireKnown(const std::vector<std::string_view>& known) const;

  std::string Name(const std::string& field) const { return name_ + field; }

 private:
  const nlohmann::json* object_;
  std::string name_;
};

/// A parsed request body; throws ApiError(400) where it is no JSON object, or one of too many
/// levels.
class JsonBody {
 public:
  explicit JsonBody(std::string_view text);
  ~JsonBody();
  JsonBody(JsonBody&&) noexcept;
  JsonFields fields() const;

 private:
  std::unique_ptr<nlohmann::json> json_;
};

/// Token IDs of a model with `vocab_size` of them; `name` is the list's in messages. Throws
/// ApiError(400): "input_ids[3] is 70000, outside the vocabulary of 50257".
std::vector<TokenId> ReadTokenIds(const nlohmann::json& list, const std::string& name,
                                  int vocab_size);

}  // namespace detcheck
