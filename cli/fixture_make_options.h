#pragma once

#include <string>
#include <vector>

#include "cli/option_adder.h"
#include "engine/remote/options.h"
#include "fixtures/fixture.h"

namespace detcheck {

/// `fixture make`: texts in, a set of fixtures out.
struct FixtureMakeOptions {
  std::vector<std::string> texts;  ///< Files of ReadPromptTexts.
  std::string output;
  std::string tokenizer;       ///< A model's directory, or a tokenizer.json.
  std::string tokenizer_name;  ///< Empty: the name of the folder that it is in.
  std::string name;            ///< Of the set; empty: that of the output file.
  std::string description;
  std::string origin;  ///< Empty: the names of the files.
  std::string license;
  Fixture defaults;  ///< Role, sampling and limit where a text has none of its own.
  bool add_special_tokens = false;
};

/// Both must outlive the parsing.
void AddFixtureMakeOptions(OptionAdder* add, FixtureMakeOptions* make);

/// Throws Error(kUsage) where there is no output, or not exactly one tokenizer.
void CheckFixtureMakeOptions(const FixtureMakeOptions& make, const RemoteOptions& server);

}  // namespace detcheck
