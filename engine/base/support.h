#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace detcheck {

// What an engine's documentation says of determinism: a table per engine. Tables of other engines
// are data (fixtures/support/), that of the embedded engine is made from what it can do.

enum class SupportAnswer {
  kDocumented,             ///< Said to be deterministic.
  kDocumentedUnsupported,  ///< Said not to be, or not to be possible together.
  kUndocumented,           ///< Nothing is said.
};

/// "documented", "documented_unsupported", "undocumented".
std::string_view ToString(SupportAnswer answer);

/// Something that an engine does while it answers.
struct SupportFeature {
  std::string_view name;     ///< As in the data files.
  std::string_view heading;  ///< For a person.
  /// Whether it can be on in one run and off in the next, so that it is part of the combination
  /// that is looked up.
  bool varies = true;
};

/// All of them, in the order in which they are shown.
std::span<const SupportFeature> SupportFeatures();

/// Where a statement stands: a page that was read, or a test of this project.
struct SupportSource {
  std::string id;     ///< By which statements name it.
  std::string title;  ///< With the state of the page: a release, a commit, a date.
  std::string url;    ///< Empty for a test.
  std::string read;   ///< Day on which the page was read, YYYY-MM-DD; empty for a test.
  std::string test;   ///< "Suite.Name" of a GoogleTest case, or the name of another test in ctest.
};

struct SupportStatement {
  std::string feature;  ///< Empty where it is about no feature alone.
  SupportAnswer answer = SupportAnswer::kUndocumented;
  std::vector<std::string> sources;  ///< IDs; one at least where documented.
  std::string note;                  ///< Conditions, in our own words; may be empty.
  /// Of parallelism: the answer holds for sizes up to this, larger ones are documented as
  /// unsupported; 0: no such limit.
  int up_to = 0;
};

/// What is said of one attention backend. A feature without a statement is undocumented.
struct SupportRow {
  std::string attention_backend;
  std::vector<SupportStatement> statements;
};

/// What is said of the releases `from` <= release < `before`.
struct SupportRange {
  std::string from;
  std::string before;             ///< Empty: all later ones.
  SupportStatement default_mode;  ///< Of the engine without its deterministic mode.
  std::vector<SupportRow> rows;
  SupportStatement other_backends;  ///< Of attention backends that have no row.
};

struct SupportTable {
  std::string engine;  ///< The subject's engine.name.
  std::string mode;    ///< How its deterministic mode is asked for.
  std::vector<SupportSource> sources;
  std::vector<SupportRange> releases;  ///< Ascending, without overlap.
};

/// Compares releases as "0.5.5.post1": number by number, a missing one counts as 0; a suffix such
/// as "rc1" or "+cu129" is left out. Negative, 0 or positive.
int CompareReleases(std::string_view a, std::string_view b);

/// The range that holds `release`; null where there is none, or it is empty.
const SupportRange* FindRange(const SupportTable& table, std::string_view release);

/// "0.5.3 to before 0.5.5", "0.5.5 and later".
std::string RangeInWords(const SupportRange& range);

}  // namespace detcheck
