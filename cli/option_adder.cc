#include "cli/option_adder.h"

#include <CLI/CLI.hpp>

#include "cli/number.h"
#include "engine/base/error.h"
#include "engine/base/private_names.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

std::string WithDefault(const std::string& help, const std::string& default_text) {
  return default_text.empty() ? help : help + " [default: " + default_text + ']';
}

void RequireText(const std::string& name, const std::string& text) {
  if (text.empty()) throw Error(ErrorCode::kUsage, name + " '': nothing is given");
}

}  // namespace

void OptionAdder::Note(Noted noted, const std::string& name, const std::string& text) {
  if (noted == Noted::kNo) return;
  if (!arguments_->empty()) *arguments_ += ' ';
  *arguments_ += name;
  if (!text.empty()) *arguments_ += ' ' + OneLine(text);
}

void OptionAdder::Value(const std::string& name, const std::string& type,
                        const std::string& default_text, const std::string& help, const Setter& set,
                        const Shown& shown) {
  const auto take = [this, noted = noted_, name, set, shown](const std::string& text) {
    RequireText(name, text);
    Note(noted, name, shown ? shown(text) : text);
    set(text);
  };
  app_->add_option_function<std::string>(name, take, WithDefault(help, default_text))
      ->type_name(type)
      ->group(group_);
}

void OptionAdder::Path(const std::string& name, const std::string& type,
                       const std::string& default_text, const std::string& help,
                       const Setter& set) {
  const auto take = [this, noted = noted_, name, set](const std::string& text) {
    RequireText(name, text);
    Note(noted, name, PublicName(text));
    set(text);
  };
  app_->add_option_function<std::string>(name, take, WithDefault(help, default_text))
      ->type_name(type)
      ->group(group_);
}

void OptionAdder::Paths(const std::string& name, const std::string& type,
                        const std::string& default_text, const std::string& help, const Setter& set,
                        const Shown& shown) {
  const auto take = [this, noted = noted_, name, set,
                     shown](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      RequireText(name, text);
      Note(noted, name, shown ? shown(text) : PublicName(text));
      set(text);
    }
  };
  app_->add_option_function<std::vector<std::string>>(name, take, WithDefault(help, default_text))
      ->type_name(type)
      ->allow_extra_args(false)
      ->group(group_);
}

void OptionAdder::Flag(const std::string& name, const std::string& help,
                       const std::function<void()>& set) {
  const auto take = [this, noted = noted_, name, set] {
    Note(noted, name, "");
    set();
  };
  app_->add_flag_callback(name, take, help)->group(group_);
}

void OptionAdder::Positional(const std::string& name, const std::string& help, bool required,
                             std::string* value) {
  const auto take = [this, noted = noted_, name, value](const std::string& text) {
    RequireText(name, text);
    Note(noted, PublicName(text), "");
    *value = text;
  };
  app_->add_option_function<std::string>(name, take, help)->type_name("")->required(required);
}

void OptionAdder::Positionals(const std::string& name, const std::string& help,
                              std::vector<std::string>* values) {
  app_->add_option(name, *values, help)->type_name("")->required();
}

void OptionAdder::Whole(const std::string& name, int* value, int64_t low, int64_t high,
                        const std::string& default_text, const std::string& help) {
  Value(name, "N", default_text, help, [=](const std::string& text) {
    *value = static_cast<int>(ParseWhole(name, text, low, high));
  });
}

void OptionAdder::Seed(const std::string& name, uint64_t* value, const std::string& help) {
  Value(name, "N", std::to_string(*value), help, [=](const std::string& text) {
    *value = static_cast<uint64_t>(ParseWhole(name, text, 0, kMostSeed));
  });
}

void OptionAdder::RefuseWord(const std::string& name, const std::string& text,
                             const std::string& list) {
  throw Error(ErrorCode::kUsage, name + ' ' + OneLine(text) + ": not one of " + list);
}

}  // namespace detcheck
