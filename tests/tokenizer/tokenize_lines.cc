// What the parity test compares with the Hugging Face library: each line of standard input is JSON,
// a text (a string) or IDs (a list); each line of standard output its IDs, or the bytes of the IDs
// as hex digits. `tokenize_lines TOKENIZER.JSON [--add-special | --leave-out-special | --time]`;
// --time prints the speed of encoding all lines as one text instead, in processor time.

#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace {

using detcheck::TokenId;
using detcheck::Tokenizer;

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char c : bytes) {
    char digits[3] = {};
    std::snprintf(digits, sizeof digits, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    hex += digits;
  }
  return hex;
}

void AnswerLines(const Tokenizer& tokenizer, const std::string& option) {
  const auto add =
      option == "--add-special" ? Tokenizer::AddSpecial::kYes : Tokenizer::AddSpecial::kNo;
  const auto special = option == "--leave-out-special" ? Tokenizer::SpecialText::kLeaveOut
                                                       : Tokenizer::SpecialText::kKeep;
  for (std::string line; std::getline(std::cin, line);) {
    const auto value = nlohmann::json::parse(line);
    if (value.is_string()) {
      const std::string text = value.get<std::string>();
      std::cout << nlohmann::json(tokenizer.Encode(text, add)).dump() << '\n';
    } else {
      std::cout << Hex(tokenizer.Decode(value.get<std::vector<TokenId>>(), special)) << '\n';
    }
  }
}

void TimeLines(const Tokenizer& tokenizer) {
  std::string text;
  for (std::string line; std::getline(std::cin, line);) {
    text += nlohmann::json::parse(line).get<std::string>() + '\n';
  }
  const std::clock_t begin = std::clock();
  const std::vector<TokenId> ids = tokenizer.Encode(text);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%zu bytes, %zu tokens, %.3f s of processor time: %.1f MB/s\n", text.size(),
              ids.size(), seconds, static_cast<double>(text.size()) / seconds * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: tokenize_lines TOKENIZER.JSON [OPTION]\n");
    return 2;
  }
  try {
    const Tokenizer tokenizer = Tokenizer::Read(argv[1]);
    const std::string option = argc > 2 ? argv[2] : "";
    if (option == "--time") {
      TimeLines(tokenizer);
    } else {
      AnswerLines(tokenizer, option);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenize_lines: error: %s\n", error.what());
    return 2;
  }
}
