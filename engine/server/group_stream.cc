#include "engine/server/group_stream.h"

#include <memory>
#include <utility>

#include "engine/server/served_model.h"

namespace detcheck {
namespace {

class GroupStream {
 public:
  GroupStream(RequestGroup* group, const EventText& event, const StreamWriter& write)
      : group_(group), event_(event), write_(write), told_(group->size()) {}

  /// Sends what is new. False: the client is gone.
  bool SendNews() {
    for (int i = 0; i < group_->size(); ++i) {
      Told& told = told_[i];
      if (told.ended) continue;
      const PromptAnswer answer = group_->Read(i);
      const size_t num_tokens = answer.completion.token_ids.size();
      if (num_tokens == told.num_tokens && !answer.ended) continue;
      told = {num_tokens, answer.ended};
      const std::string data = event_(i, answer);
      if (!data.empty() && !write_("data: " + data + "\n\n")) return false;
    }
    return true;
  }

 private:
  struct Told {
    size_t num_tokens = 0;
    bool ended = false;
  };

  RequestGroup* group_;
  const EventText& event_;
  const StreamWriter& write_;
  std::vector<Told> told_;
};

}  // namespace

HttpReply StreamGroup(EngineLoop* loop, std::vector<EngineRequest> requests, const HttpPeer& peer,
                      EventText event, std::function<std::string()> last) {
  const auto group = std::make_shared<RequestGroup>(std::move(requests));
  HttpReply reply;
  reply.content_type = "text/event-stream";
  reply.stream = [loop, group, &peer, event = std::move(event),
                  last = std::move(last)](const StreamWriter& write) {
    loop->Submit(group);
    GroupFollower follower(loop, group, peer);
    GroupStream stream(group.get(), event, write);
    for (bool ended = false; !ended;) {
      if (!follower.Wait()) return;
      ended = group->ended();  // Before the news is read, so that none is missed.
      if (!stream.SendNews()) return;
    }
    if (last) {
      const std::string data = last();
      if (!data.empty() && !write("data: " + data + "\n\n")) return;
    }
    write("data: [DONE]\n\n");
  };
  return reply;
}

}  // namespace detcheck
