// What a member's owner has to do for its membership, in this order. Value types.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "gradwire/membership/message.h"
#include "gradwire/membership/view.h"

namespace gradwire::membership {

// Drop the message if there is no connection.
struct SendMessage {
  MemberId to;
  Message message;
};

// Connect, unless it is so already or under way. Say so by on_connected; say nothing if it fails.
struct ConnectTo {
  Member member;
};

struct CloseConnection {
  MemberId id;
};

// A new view. Frames of its steps count from here on; those of later views wait.
struct AdoptView {
  Decision decision;
};

// Exchange this step among the members of the view, from the gradients that are held if it was
// begun before. Call on_frame for every rank whose frames of it are complete, this one's too.
struct BeginStep {
  std::uint64_t view = 0;
  std::uint64_t step = 0;
};

// Send nothing more of the step. Keep its frames and the gradients.
struct StopStep {
  std::uint64_t step = 0;
};

// Throw the frames of the step away. Keep the gradients and the memories as they were before it.
struct AbortStep {
  std::uint64_t step = 0;
};

// All frames are there: write results and memories, and call on_committed. Keep the frames until
// the next step is committed: another member may need them.
struct CommitStep {
  std::uint64_t world = 0;  // the view in which it was exchanged
  std::uint64_t step = 0;
};

// Fetch the frames of one rank of view `world`, and call on_frame. The source has them.
struct FetchFrame {
  MemberId from;
  std::uint64_t world = 0;
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
};

// A newcomer: reach the model after this step, from what donors have, and call on_committed.
struct CatchUp {
  std::uint64_t step = 0;
};

// There is no quorum. It goes on when there is one, or ends at the deadline.
struct Wait {};

enum class EndReason {
  left,          // as it wanted to
  removed,       // the others went on without it
  no_quorum,     // until the deadline
  not_admitted,  // until the deadline, or by a run that does not know it
  diverged,      // a decision does not fit to its state
};

const char* name(EndReason reason);

// It is over for this process. If the last step is not settled, the others may have replaced it:
// a checkpoint has to say so.
struct End {
  EndReason reason = EndReason::left;
  std::uint64_t settled = 0;  // all members have committed this step
};

using Action = std::variant<SendMessage, ConnectTo, CloseConnection, AdoptView, BeginStep, StopStep,
                            AbortStep, CommitStep, FetchFrame, CatchUp, Wait, End>;

}  // namespace gradwire::membership
