#include "cli/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "cli/harness_manifest.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;

constexpr char kNotShown[] = "(set; not a value that is shown)";

/// A variable that is set as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string Shown(const char* name, const char* value) {
  const Variable variable(name, value);
  return FieldValue(EnvironmentFields(), std::string("env.") + name);
}

TEST(Environment, EveryVariableSaysWhyAndIsThereOnce) {
  std::set<std::string_view> names;
  for (const AllowedVariable& variable : AllowedEnvironment()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_FALSE(variable.why.empty()) << variable.name;
    EXPECT_EQ(variable.form == VariableForm::kWords, !variable.words.empty()) << variable.name;
  }
}

TEST(Environment, ShowsValuesOfTheFormThatAVariableHas) {
  EXPECT_EQ(Shown("OMP_NUM_THREADS", "4,2"), "4,2");
  EXPECT_EQ(Shown("CUBLAS_WORKSPACE_CONFIG", ":4096:8"), ":4096:8");
  EXPECT_EQ(Shown("OPENBLAS_CORETYPE", "SkylakeX"), "SkylakeX");
  EXPECT_EQ(Shown("NCCL_ALGO", "Tree,Ring"), "Tree,Ring");
  EXPECT_EQ(Shown("LD_PRELOAD", "/home/alice/lib/libx.so.1:/opt/liby.so"), "libx.so.1 liby.so");
}

TEST(Environment, HidesWhatLooksLikeNoValue) {
  EXPECT_EQ(Shown("OMP_NUM_THREADS", "sk-0123"), kNotShown);
  EXPECT_EQ(Shown("CUDA_VISIBLE_DEVICES", "GPU-5f3c"), kNotShown);
  EXPECT_EQ(Shown("OPENBLAS_CORETYPE", "alice"), kNotShown);
  EXPECT_EQ(Shown("NCCL_ALGO", "tree,/home/alice"), kNotShown);
  EXPECT_EQ(Shown("LD_PRELOAD", "sk-0123"), kNotShown);
  EXPECT_EQ(Shown("MALLOC_PERTURB_", std::string(65, '1').c_str()), kNotShown);
}

// Set to nothing, it hides all GPUs.
TEST(Environment, AnEmptyValueIsNotNone) {
  const Variable variable("CUDA_VISIBLE_DEVICES", "");
  EXPECT_EQ(FieldValue(EnvironmentFields(), "env.CUDA_VISIBLE_DEVICES"), "(empty)");
  EXPECT_THAT(FieldValue(EnvironmentFields(), "env.not_set"),
              testing::Not(HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(Environment, NamesWhatIsNotSet) {
  unsetenv("NCCL_ALGO");
  EXPECT_THAT(FieldValue(EnvironmentFields(), "env.not_set"), HasSubstr("NCCL_ALGO"));
  const Variable variable("NCCL_ALGO", "Tree");
  EXPECT_THAT(FieldValue(EnvironmentFields(), "env.not_set"), testing::Not(HasSubstr("NCCL_ALGO")));
}

TEST(HarnessManifest, HasEachFieldOfItsTable) {
  const Manifest manifest = HarnessManifest("single");
  size_t at = 0;
  for (const FieldMeaning& meaning : HarnessFields()) {
    ASSERT_LT(at, manifest.size());
    EXPECT_EQ(manifest[at++].name, meaning.name);
  }
  for (; at < manifest.size(); ++at) EXPECT_EQ(manifest[at].name.find("env."), 0u);
  EXPECT_EQ(FieldValue(manifest, "arguments"), "single");
  EXPECT_THAT(FieldValue(manifest, "library.loaded"), HasSubstr("libc.so.6"));
  EXPECT_EQ(FieldValue(manifest, "library.loaded").find('/'), std::string::npos);
}

}  // namespace
}  // namespace detcheck
