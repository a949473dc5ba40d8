// SharedIndices: which values of a step are sent, chosen by one rank, the leader, for all. Its
// message has the indices of its largest values, layer by layer, and what a codec makes of the
// values there: from these all ranks know the leader's signs, and about how large its values are.
// Divided by that, a rank's values are of the same size in all layers, and times the leader's signs
// their mean is not zero: both make them easier to code.
//
// Indices are coded with what all ranks know of the earlier messages: see IndexHistory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gradwire/codec/codec.h"
#include "gradwire/codec/index_coder.h"
#include "gradwire/codec/index_history.h"
#include "gradwire/codec/kernel_coder.h"
#include "gradwire/codec/kernel_history.h"
#include "gradwire/codec/kernel_model.h"
#include "gradwire/core/expected.h"

namespace gradwire {

struct SharedIndices {
  std::vector<std::uint32_t> at;  // elements of all layers' values, one layer after the other
  std::vector<float> units;       // with the leader's sign; not 0

  std::size_t size() const { return at.size(); }
};

// A value in units, as far as a code need follow it: what is left of a very large one stays with
// its rank.
float in_units(float value, float unit);

// Values at the indices, in units.
std::vector<float> pick(const SharedIndices& indices, std::span<const float> values);

// A layer as a matrix. The rows of a convolution consist of kernels.
struct LayerShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t kernel = 1;  // elements of a kernel, which divide the columns
  std::size_t width = 1;   // of a kernel

  std::size_t elements() const { return rows * columns; }
  bool is_coded_by_kernels() const { return kernel > 1 && kernel <= KernelHistory::kElementsMax; }
};

class IndexMessage {
 public:
  // The largest values of every layer are chosen; `values` is the codec of the leader's values
  // there, such as "sign".
  IndexMessage(std::vector<LayerShape> layers, double share, const std::string& values);

  std::size_t indices_max() const { return indices_max_; }
  std::size_t bytes_max() const { return bytes_max_; }

  struct Written {
    std::vector<std::byte> bytes;
    bool is_finite = true;
  };
  Written write(std::span<const float> values, const Rng& rng);

  // Bytes that came from the leader: the indices, or why they are no such message.
  Decoded<SharedIndices> read(std::span<const std::byte> message);

  // The message that was read last is part of the history from now on. All ranks at once.
  void record();

  // Stands for all messages that were recorded.
  std::uint32_t mark() const { return mark_; }

  // The history, to bytes and back; without one it starts anew. Throws Error for bytes that save()
  // cannot have given.
  std::vector<std::byte> save() const;
  void load(std::span<const std::byte> saved);
  void forget();
  std::size_t memory_bytes() const;

 private:
  using History = std::variant<IndexHistory, KernelHistory>;

  History new_history(std::size_t layer) const;
  void write_indices(std::vector<std::byte>& message);
  Decoded<std::size_t> read_indices(std::span<const std::byte> message);

  std::vector<LayerShape> layers_;
  std::unique_ptr<const Codec> largest_;
  std::unique_ptr<const Codec> values_;
  std::size_t indices_max_ = 0;
  std::size_t rice_bytes_max_ = 0;
  std::size_t bytes_max_ = 0;
  std::vector<History> histories_;  // by layer
  KernelModel model_;               // of all layers that are coded by kernels
  std::uint32_t mark_ = 0;
  IndexCoder coder_;
  KernelCoder kernel_coder_;
  Scale scale_;
  Workspace workspace_;
  // Of the message that is written or was read last, by layer.
  std::vector<std::vector<std::uint32_t>> indices_;
  std::uint32_t read_mark_ = 0;
  std::vector<float> decoded_;  // of the largest layer
};

}  // namespace gradwire
