// MethodExchange: an exchange with the extras that methods need. Not installed. The extras are
// - ports, through which a method updates its memories piece by piece, while a piece is in the
// cache;
// - a codec for each tensor;
// - kept messages: averaging ranks keep the last message of each rank, so that a rank can reuse it.
//
// All ranks make one at the same time, and the method owns it. Ports are called on the
// communicator's threads; all other functions by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/collective/grace.h"

namespace gradwire {

// The method's work on an owner, between the mean and the downlink. prepare() is called on the
// codec threads, for several pieces at once; commit() on the progress thread.
class OwnerPort {
 public:
  virtual ~OwnerPort() = default;

  // Writes the values that the downlink should send to `wanted`, given the exact mean of all
  // messages. Must not change a memory yet: the exchange may still be poisoned.
  virtual void prepare(const TensorPiece& piece, std::span<const float> mean,
                       std::span<float> wanted) = 0;

  // The exchange is not poisoned: all ranks got `sent` instead of `wanted` of prepare().
  virtual void commit(const TensorPiece& piece, std::span<const float> mean,
                      std::span<const float> sent) = 0;

  // Only with MethodExchangeOptions::grace, where owners work between calls: a call of this rank
  // begins. On the progress thread, as the other functions are then.
  virtual void begin_call() {}
  // With late ranks, after begin_call() or a commit(): no mean is prepared and not committed, so
  // that memories may change their unit.
  virtual void settle_unit() {}
};

// The message of this rank for one piece.
class SentPiece {
 public:
  // No message: from a dedicated server, or from a rank whose last message is used again.
  SentPiece() = default;
  // The scratch memory has room for the piece.
  SentPiece(const Codec& codec, std::span<const std::byte> payload, Workspace& workspace,
            std::span<float> scratch)
      : codec_(&codec), payload_(payload), workspace_(&workspace), scratch_(scratch) {}

  // A message that came too late to be counted: all of it is still unsent, as if zeros had been
  // sent.
  static SentPiece late(std::span<float> scratch) {
    SentPiece piece;
    piece.is_late_ = true;
    piece.scratch_ = scratch;
    return piece;
  }

  bool is_empty() const { return codec_ == nullptr && !is_late_; }
  std::span<const std::byte> payload() const { return payload_; }

  // target = C(v); zeros where nothing was sent or counted.
  void decode(std::span<float> target) const;
  // C(v) in scratch memory, until WorkerPort::remember() returns. Something must have been sent.
  std::span<const float> decoded() const;
  // target += weight C(v)
  void add(float weight, std::span<float> target) const;

 private:
  const Codec* codec_ = nullptr;
  bool is_late_ = false;
  std::span<const std::byte> payload_;
  Workspace* workspace_ = nullptr;
  std::span<float> scratch_;
};

// The method's work on a worker, before the uplink and after the downlink. Called once for each
// piece, while the piece is in the cache, on the codec threads: for several pieces at once, unless
// takes_pieces_in_order().
class WorkerPort {
 public:
  virtual ~WorkerPort() = default;

  // Whether remember() needs the values of prepare(). Otherwise they are not kept.
  virtual bool keeps_values() const = 0;

  // True if remember() and commit() depend on the pieces before, as a sum over all pieces does.
  virtual bool takes_pieces_in_order() const { return false; }

  // The factor of a tensor's mean.
  virtual float mean_scale(std::size_t tensor) const = 0;

  // Writes the values to send to `values`, which may be the gradient's memory. Must not change a
  // memory of the method yet: the exchange may still be poisoned.
  virtual void prepare(const TensorPiece& piece, std::span<const float> gradient,
                       std::span<float> values) = 0;

  // The exchange is not poisoned. `sent` is the rank's message, and `values` are those of
  // prepare(), if keeps_values(); they may be overwritten. `sent` may be in the same memory.
  virtual void remember(const TensorPiece& piece, const SentPiece& sent,
                        std::span<float> values) = 0;

  // After remember(): writes the output to `result`, given the mean that all ranks got. They may be
  // the same memory.
  virtual void commit(const TensorPiece& piece, std::span<const float> mean,
                      std::span<float> result) = 0;
};

// Holds the results of an exchange back until all ranks are sure to have them, so that a step can
// be given up and repeated (docs/membership.md). A step's result follows from its result frames:
// with owners each owner's frames of the mean, in a gather each rank's message. Called on the
// progress thread.
class CommitGate {
 public:
  virtual ~CommitGate() = default;

  // All result frames of a rank are here, this one's too. They have been checked.
  virtual void on_result(std::size_t rank, std::span<const std::span<const std::byte>> frames) = 0;

  // All ranks' result frames are here: waits for the decision. Returning means that memories and
  // results are written. Throws to give the exchange up, which changes nothing but the memory of
  // the gradients.
  virtual void await_commit() = 0;
};

struct MethodExchangeOptions {
  // A codec for each tensor, for uplink and downlink, instead of ExchangeOptions::up and ::down.
  // Not on topologies that pass sums.
  std::vector<std::shared_ptr<const Codec>> each = {};

  bool is_ported = false;      // calls have a worker's port; received frames are kept for it
  bool keeps_uploads = false;  // a rank may reuse its last message

  // Owners do not wait for late ranks. Only ported exchanges of scatter and server, whose steps
  // follow one another: the first call may have any step, and every other call has the next one.
  Grace grace = {};
};

// The method's part of a call.
struct MethodCall {
  OwnerPort* owner = nullptr;  // null: owners send the mean as it is

  // Set if the exchange is ported. Then there are no ExchangeCall::values: `means` holds the
  // gradients, and at the end the output. The output of a poisoned exchange is NaN everywhere.
  WorkerPort* worker = nullptr;

  // This rank reuses its last message; uploads must be kept. prepare() is not called.
  bool is_repeat = false;

  CommitGate* gate = nullptr;  // only ported exchanges of scatter, server and gather

  // The result frames of each rank, one behind the other, of an exchange that this rank was not
  // part of. Nothing is sent: the port gets no message of its own, and commits the mean.
  std::span<const std::vector<std::byte>> replay = {};
};

class MethodExchange : public Exchange {
 public:
  using Exchange::start;
  virtual void start(const ExchangeCall& call, const MethodCall& method) = 0;

  // The ranges that this rank averages for all; empty where there are no owners.
  virtual std::vector<TensorPiece> owned() const = 0;

  // With MethodExchangeOptions::grace, between calls. Whether the next call's means are here before
  // it has started: its message would be late. And whether owners have closed them on this rank.
  virtual bool has_next_result() const { return false; }
  virtual bool is_ahead() const { return false; }

  // The kept messages as bytes, for checkpoints. Between calls only. Loading throws Error for bytes
  // of another exchange.
  virtual std::size_t upload_bytes() const = 0;
  virtual std::vector<std::byte> save_uploads() const = 0;
  virtual void load_uploads(std::span<const std::byte> bytes) = 0;
};

// As make_exchange.
std::unique_ptr<MethodExchange> make_method_exchange(Communicator& communicator,
                                                     std::vector<TensorSize> tensors,
                                                     const ExchangeOptions& options,
                                                     const MethodExchangeOptions& method);

}  // namespace gradwire
