#include "reports/criteria/command_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "fixtures/json_reader.h"
#include "reports/json_text.h"

extern char** environ;

namespace detcheck {
namespace {

namespace fs = std::filesystem;

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

bool IsProgram(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// The program that a shell would run.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (IsProgram(name)) return name;
  } else {
    const char* path = std::getenv("PATH");
    const std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    for (size_t begin = 0; begin <= folders.size();) {
      const size_t end = std::min(folders.find(':', begin), folders.size());
      const std::string folder = folders.substr(begin, end - begin);
      const std::string program = (folder.empty() ? "." : folder) + '/' + name;
      if (IsProgram(program)) return program;
      begin = end + 1;
    }
  }
  throw Error(ErrorCode::kUsage,
              "criterion command: " + Quoted(ToUtf8(name)) + ": no such program");
}

// A file descriptor that is closed in the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

// Whether the file in memory could take all of the text and is at its beginning again. A file, not
// a pipe: a program that does not read it blocks nobody, and signals nothing.
bool Fill(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return fd >= 0 && lseek(fd, 0, SEEK_SET) == 0;
}

// How a program is started: its standard streams, a process group of its own, signals as usual.
class SpawnSettings {
 public:
  explicit SpawnSettings(int input) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

class CommandCheck : public TextCheck {
 public:
  CommandCheck(const std::string& command, double deadline_s, const std::atomic<bool>& stop)
      : words_(SplitCommand(command)),
        program_(FindProgram(words_.front())),
        deadline_s_(deadline_s),
        stop_(stop) {}

  TextFinding Check(const std::string& text) override {
    if (stop_) return Unknown("interrupted before the command was run");
    const Descriptor input(memfd_create("text", MFD_CLOEXEC));
    if (!Fill(input.get(), text)) return Unknown("no memory for the command's input");
    const auto began = std::chrono::steady_clock::now();
    const SpawnSettings settings(input.get());
    std::vector<char*> arguments;
    for (std::string& word : words_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, program_.c_str(), settings.actions(), settings.attributes(),
                                  arguments.data(), environ);
    if (error != 0) return Unknown(std::string("the command cannot be run: ") + strerror(error));
    return Await(pid, began);
  }

 private:
  static TextFinding Unknown(std::string why) { return {Validity::kUnknown, std::move(why)}; }

  // The group is killed while its leader is not reaped yet, so that its number is still its own.
  TextFinding Await(pid_t pid, std::chrono::steady_clock::time_point began) const {
    siginfo_t ended = {};
    bool in_time = true;
    std::chrono::microseconds pause(200);
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           ended.si_pid == 0) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      in_time = took.count() < deadline_s_;
      if (!in_time) break;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(10'000));
    }
    kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!in_time) return Unknown(fmt::format("the command did not end in {:g} s", deadline_s_));
    if (WIFSIGNALED(status)) {
      return Unknown("the command was ended by signal " + std::to_string(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) == 0) return {Validity::kValid, ""};
    return {Validity::kInvalid,
            "the command ended with exit code " + std::to_string(WEXITSTATUS(status))};
  }

  std::vector<std::string> words_;
  const std::string program_;
  const double deadline_s_;
  const std::atomic<bool>& stop_;
};

}  // namespace

std::vector<std::string> SplitCommand(const std::string& command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : command) {
    if (quote == 0 && IsBlank(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    throw Error(ErrorCode::kUsage, "criterion command: " + Quoted(ToUtf8(command)) + ": a " +
                                       quote + " is never closed");
  }
  if (command.find('\0') != std::string::npos) {
    throw Error(ErrorCode::kUsage,
                "criterion command: " + Quoted(ToUtf8(command)) + ": holds a NUL");
  }
  if (words.empty() || words.front().empty()) {
    throw Error(ErrorCode::kUsage,
                "criterion command: " + Quoted(ToUtf8(command)) + ": names no program");
  }
  return words;
}

std::unique_ptr<TextCheck> MakeCommandCheck(const std::string& command, double deadline_s,
                                            const std::atomic<bool>& stop) {
  return std::make_unique<CommandCheck>(command, deadline_s, stop);
}

}  // namespace detcheck
