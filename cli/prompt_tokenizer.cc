#include "cli/prompt_tokenizer.h"

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/remote/remote_tokenizer.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/utf8.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

std::string OrElse(const std::string& text, const std::string& other) {
  return text.empty() ? other : text;
}

class LocalTokenizer : public PromptTokenizer {
 public:
  explicit LocalTokenizer(const FixtureMakeOptions& make)
      : file_(Tokenizer::FileOf(make.tokenizer)),
        name_(make.tokenizer_name),
        tokenizer_(Tokenizer::Read(file_.string())) {}

  void DescribeIn(FixtureSet* set) const override {
    const std::filesystem::path folder =
        std::filesystem::absolute(file_).lexically_normal().parent_path();
    set->tokenizer_name = OrElse(name_, folder.filename().string());
    set->tokenizer_sha256 = Sha256Hex(ReadFile(file_.string()));
  }

  std::vector<TokenId> Encode(const std::string& text, bool add_special) override {
    return tokenizer_.Encode(
        text, add_special ? Tokenizer::AddSpecial::kYes : Tokenizer::AddSpecial::kNo);
  }
  std::optional<std::string> Decode(const std::vector<TokenId>& ids) override {
    return tokenizer_.Decode(ids, Tokenizer::SpecialText::kKeep);
  }
  std::optional<int> vocab_size() const override { return tokenizer_.vocab_size(); }

 private:
  const std::filesystem::path file_;
  const std::string name_;
  const Tokenizer tokenizer_;
};

class ServerTokenizer : public PromptTokenizer {
 public:
  ServerTokenizer(const FixtureMakeOptions& make, const RemoteOptions& server)
      : name_(make.tokenizer_name), server_(server) {
    if (!make.add_special_tokens && !server_.can_leave_out_special()) {
      throw Error(ErrorCode::kUnsupported,
                  "fixture make: the special tokens that this server puts around texts cannot be "
                  "left out; --add-special-tokens takes them");
    }
  }

  void DescribeIn(FixtureSet* set) const override {
    set->tokenizer_server = server_.Server();
    set->tokenizer_model = server_.Model();
    set->tokenizer_name = OrElse(name_, OrElse(set->tokenizer_model, set->tokenizer_server));
  }

  std::vector<TokenId> Encode(const std::string& text, bool add_special) override {
    const size_t invalid = FindInvalidUtf8(text);
    if (invalid != std::string::npos) {
      throw Error(ErrorCode::kInput, "byte " + std::to_string(invalid) + ": not UTF-8");
    }
    return server_.Encode(text, add_special);
  }
  std::optional<std::string> Decode(const std::vector<TokenId>& ids) override {
    return server_.Decode(ids);
  }
  std::optional<int> vocab_size() const override { return server_.vocab_size(); }

 private:
  const std::string name_;
  RemoteTokenizer server_;
};

}  // namespace

std::unique_ptr<PromptTokenizer> MakePromptTokenizer(const FixtureMakeOptions& make,
                                                     const RemoteOptions& server) {
  if (!server.endpoint.empty()) return std::make_unique<ServerTokenizer>(make, server);
  return std::make_unique<LocalTokenizer>(make);
}

}  // namespace detcheck
