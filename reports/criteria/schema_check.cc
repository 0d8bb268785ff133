#include "reports/criteria/schema_check.h"

#include "engine/base/error.h"

#ifdef DETCHECK_JSON_SCHEMA

#define VALIJSON_USE_EXCEPTIONS 1
#include <pthread.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "fixtures/json_reader.h"
#include "reports/criteria/schema_keywords.h"

namespace detcheck {
namespace {

// The validator matches patterns by recursion, with up to some kilobytes of stack for each byte.
constexpr size_t kMaxMatchedBytes = 16 * 1024;
constexpr size_t kMatchingStackBytes = size_t{256} << 20;

// Runs `work` to its end on a stack of kMatchingStackBytes; false where there is no memory for it.
bool OnLargeStack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kMatchingStackBytes);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  const bool is_started = pthread_create(&thread, &attributes, run, &work) == 0;
  pthread_attr_destroy(&attributes);
  if (is_started) pthread_join(thread, nullptr);
  return is_started;
}

// The first thing that is wrong: "<root>[items][0]: Value type not permitted".
std::string WhyNot(valijson::ValidationResults* results) {
  valijson::ValidationResults::Error error;
  if (!results->popError(error)) return "the schema does not accept it";
  std::string why;
  for (const std::string& part : error.context) why += part;
  return why + ": " + error.description;
}

class SchemaCheck : public TextCheck {
 public:
  SchemaCheck(const std::string& schema, const std::string& name) {
    const JsonDocument document(schema, name);
    traits_ = CheckSchemaKeywords(document.tree(), name);
    try {
      const valijson::adapters::NlohmannJsonAdapter adapter(document.tree());
      valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema_);
    } catch (const std::exception& error) {
      throw Error(ErrorCode::kInput, name + ": " + error.what());
    }
  }

  TextFinding Check(const std::string& text) override {
    try {
      const JsonDocument document(text, "");
      if (traits_.matches_patterns && text.size() > kMaxMatchedBytes) {
        return {Validity::kUnknown, "more than 16384 bytes are not matched against patterns"};
      }
      TextFinding finding;
      if (!traits_.matches_patterns) return Validate(document.tree());
      if (!OnLargeStack([&] { finding = Validate(document.tree()); })) {
        return {Validity::kUnknown, "no memory to match patterns"};
      }
      return finding;
    } catch (const Error& error) {
      return {Validity::kInvalid, std::string("not JSON: ") + error.what()};
    }
  }

 private:
  TextFinding Validate(const nlohmann::json& value) const {
    valijson::ValidationResults results;
    try {
      valijson::Validator validator;
      const valijson::adapters::NlohmannJsonAdapter adapter(value);
      if (validator.validate(schema_, adapter, &results)) return {Validity::kValid, ""};
    } catch (const std::exception& error) {
      return {Validity::kUnknown, std::string("the validator gave up: ") + error.what()};
    }
    return {Validity::kInvalid, WhyNot(&results)};
  }

  SchemaTraits traits_;
  valijson::Schema schema_;
};

}  // namespace

std::unique_ptr<TextCheck> MakeSchemaCheck(const std::string& schema, const std::string& name) {
  return std::make_unique<SchemaCheck>(schema, name);
}

}  // namespace detcheck

#else

namespace detcheck {

std::unique_ptr<TextCheck> MakeSchemaCheck(const std::string& /*schema*/, const std::string& name) {
  throw Error(ErrorCode::kUsage, "criterion json_schema:" + name +
                                     ": this build has no JSON Schema validator; it needs "
                                     "valijson (Debian's libvalijson-dev)");
}

}  // namespace detcheck

#endif
