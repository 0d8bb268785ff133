#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace detcheck {

/// Adds options to one subcommand. Values are taken as text and read by our own strict readers;
/// what was given is noted for the manifest, paths by their public names. Must outlive the parsing.
class OptionAdder {
 public:
  using Setter = std::function<void(const std::string& text)>;
  /// What the manifest gets of a value.
  using Shown = std::function<std::string(const std::string& text)>;
  /// Words of the command line and what each stands for.
  template <typename T>
  using Words = std::vector<std::pair<std::string, T>>;

  /// `arguments` gets what was given, paths as base names.
  OptionAdder(CLI::App* app, std::string* arguments) : app_(app), arguments_(arguments) {}

  /// Whether the manifest gets what was given: not where it changes nothing but the output.
  enum class Noted { kYes, kNo };
  /// Heading, in the help, of the options that follow.
  void BeginGroup(const std::string& heading, Noted noted = Noted::kYes) {
    group_ = heading;
    noted_ = noted;
  }

  /// `default_text` is for the help; empty: there is none.
  void Value(const std::string& name, const std::string& type, const std::string& default_text,
             const std::string& help, const Setter& set, const Shown& shown = nullptr);
  /// As Value; the manifest gets the base name only.
  void Path(const std::string& name, const std::string& type, const std::string& default_text,
            const std::string& help, const Setter& set);
  /// As Path; may be given more than once. The manifest gets `shown` of each, where there is one.
  void Paths(const std::string& name, const std::string& type, const std::string& default_text,
             const std::string& help, const Setter& set, const Shown& shown = nullptr);
  void Flag(const std::string& name, const std::string& help, const std::function<void()>& set);
  void Positional(const std::string& name, const std::string& help, bool required,
                  std::string* value);
  void Positionals(const std::string& name, const std::string& help,
                   std::vector<std::string>* values);

  void Whole(const std::string& name, int* value, int64_t low, int64_t high,
             const std::string& default_text, const std::string& help);
  void Seed(const std::string& name, uint64_t* value, const std::string& help);

  template <typename T>
  void Word(const std::string& name, T* value, const Words<T>& words,
            const std::string& default_text, const std::string& help) {
    std::string list;
    for (const auto& word : words) list += (list.empty() ? "" : "|") + word.first;
    Value(name, list, default_text, help, [=](const std::string& text) {
      for (const auto& [word, meaning] : words) {
        if (word != text) continue;
        *value = meaning;
        return;
      }
      RefuseWord(name, text, list);
    });
  }

 private:
  [[noreturn]] static void RefuseWord(const std::string& name, const std::string& text,
                                      const std::string& list);
  void Note(Noted noted, const std::string& name, const std::string& text);

  CLI::App* app_;
  std::string* arguments_;
  std::string group_ = "Options";
  Noted noted_ = Noted::kYes;
};

/// The largest seed: the integers that JSON readers agree on end there.
inline constexpr int64_t kMostSeed = int64_t{1} << 53;

}  // namespace detcheck
