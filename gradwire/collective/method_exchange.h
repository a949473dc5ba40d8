// MethodExchange: an exchange as methods use it, for the library's own use. Beyond the mean it has
// ports, through which a method's memories see each piece while it is in the cache; codecs tensor
// by tensor; and messages that are kept by the averaging ranks, so that a sender may let its last
// one be used again.
//
// Made on all ranks at once and owned by the method. Ports are called on the communicator's
// progress thread, everything else by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/collective/exchange.h"

namespace gradwire {

// What the owner of a chunk does between the mean and the downlink: here methods hold the memory of
// the owner's half. Called on the progress thread.
class OwnerPort {
 public:
  virtual ~OwnerPort() = default;

  // `wanted` becomes what goes down for the exact mean of what was sent. Must not change any memory
  // yet: the exchange may still turn out to be poisoned.
  virtual void prepare(const TensorPiece& piece, std::span<const float> mean,
                       std::span<float> wanted) = 0;

  // The exchange is good: all ranks got `sent` for what prepare() wanted.
  virtual void commit(const TensorPiece& piece, std::span<const float> mean,
                      std::span<const float> sent) = 0;
};

// What this rank sent for one piece.
class SentPiece {
 public:
  // Nothing was sent: a server that only averages, or a rank that let its last message be used.
  SentPiece() = default;
  SentPiece(const Codec& codec, std::span<const std::byte> payload, Workspace& workspace)
      : codec_(&codec), payload_(payload), workspace_(&workspace) {}

  bool is_empty() const { return codec_ == nullptr; }
  std::span<const std::byte> payload() const { return payload_; }

  // target = C(v); zeros where nothing was sent.
  void decode(std::span<float> target) const;
  // target += weight C(v)
  void add(float weight, std::span<float> target) const;

 private:
  const Codec* codec_ = nullptr;
  std::span<const std::byte> payload_;
  Workspace* workspace_ = nullptr;
};

// What a worker does before and after: here methods hold the memory of the worker's half. Called on
// the progress thread, once for each piece, while the piece is in the cache.
class WorkerPort {
 public:
  virtual ~WorkerPort() = default;

  // Whether remember() needs what prepare() made. Otherwise that is not kept.
  virtual bool keeps_values() const = 0;

  // What the mean of a tensor is to be multiplied by.
  virtual float mean_scale(std::size_t tensor) const = 0;

  // `values` becomes what is sent for the gradient; they may be the same memory. Must not change
  // any memory yet: the exchange may still turn out to be poisoned.
  virtual void prepare(const TensorPiece& piece, std::span<const float> gradient,
                       std::span<float> values) = 0;

  // The exchange is good, and this is what the rank sent of it. `values` is what prepare() made, if
  // that is kept; they are not needed any more. `sent` may lie in the same memory.
  virtual void remember(const TensorPiece& piece, const SentPiece& sent,
                        std::span<float> values) = 0;

  // Then: `mean` is what all ranks got, and `result` becomes the output. They may be the same
  // memory.
  virtual void commit(const TensorPiece& piece, std::span<const float> mean,
                      std::span<float> result) = 0;
};

struct MethodExchangeOptions {
  // Instead of ExchangeOptions::up and ::down, a codec for each tensor, for both ways. Not where
  // sums are passed on.
  std::vector<std::shared_ptr<const Codec>> each = {};

  bool is_ported = false;      // calls have a worker's port: what came is kept for it
  bool keeps_uploads = false;  // ranks may let their last message be used again
};

// What a method adds to a call.
struct MethodCall {
  OwnerPort* owner = nullptr;  // what this rank does as an owner; null: nothing

  // What this rank does as a worker, if the exchange is ported. There are no ExchangeCall::values
  // then: `means` holds the gradients, and at the end the output, which is NaN everywhere after
  // poison.
  WorkerPort* worker = nullptr;

  // What this rank sent last holds again, where uploads are kept. Nothing is prepared.
  bool is_repeat = false;
};

class MethodExchange : public Exchange {
 public:
  using Exchange::start;
  virtual void start(const ExchangeCall& call, const MethodCall& method) = 0;

  // The ranges that this rank averages for all; empty where there are no owners.
  virtual std::vector<TensorPiece> owned() const = 0;

  // Every rank's last message, as far as this rank keeps it: for saving, and to go on from there.
  // Between calls. Loading throws Error for bytes of another exchange.
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
