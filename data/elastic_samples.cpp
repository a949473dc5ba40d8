#include "data/elastic_samples.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "data/draws.h"
#include "gradwire/core/check.h"
#include "gradwire/core/fields.h"

namespace gradwire::data {
namespace {

std::size_t size_of(std::span<const PositionRange> ranges) {
  std::size_t size = 0;
  for (const PositionRange& range : ranges) size += range.end - range.first;
  return size;
}

// Where a batch of `size` samples is cut before a share.
std::size_t cut_before(std::size_t size, std::size_t share, std::size_t shares) {
  return size * share / shares;
}

// Ranges that touch become one.
void append(std::vector<PositionRange>& ranges, std::span<const PositionRange> more) {
  for (const PositionRange& range : more) {
    if (!ranges.empty() && ranges.back().end == range.first) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
}

bool overlap(std::vector<PositionRange> ranges) {
  std::ranges::sort(ranges, {}, &PositionRange::first);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].end) return true;
  }
  return false;
}

}  // namespace

ElasticSamples::ElasticSamples(std::size_t samples, std::size_t batch, std::uint64_t seed)
    : samples_(samples), batch_(batch), seed_(seed) {
  GW_CHECK(samples > 0 && samples <= std::numeric_limits<std::uint32_t>::max());
  GW_CHECK(batch > 0);
  left_ = {{0, static_cast<std::uint32_t>(samples)}};
  order_epoch();
}

std::size_t ElasticSamples::batch_size() const { return std::min(batch_, size_of(left_)); }

std::span<const std::uint32_t> ElasticSamples::share(std::size_t share, std::size_t shares) {
  GW_CHECK(share < shares);
  share_.clear();
  const std::size_t size = batch_size();
  for (const PositionRange& range :
       front(cut_before(size, share, shares), cut_before(size, share + 1, shares))) {
    share_.insert(share_.end(), order_.begin() + range.first, order_.begin() + range.end);
  }
  return share_;
}

ElasticSamples::Used ElasticSamples::finish_step(std::size_t shares,
                                                 std::span<const std::size_t> lost_shares) {
  const std::size_t size = batch_size();
  Used used{.epoch = epoch_};
  std::vector<PositionRange> returned;
  for (std::size_t share = 0; share < shares; ++share) {
    const bool is_lost = std::ranges::find(lost_shares, share) != lost_shares.end();
    append(is_lost ? returned : used.positions,
           front(cut_before(size, share, shares), cut_before(size, share + 1, shares)));
  }
  left_ = front(size, size_of(left_));
  left_.insert(left_.end(), returned.begin(), returned.end());
  if (left_.empty()) {
    ++epoch_;
    left_ = {{0, static_cast<std::uint32_t>(samples_)}};
    order_epoch();
  }
  return used;
}

std::vector<std::byte> ElasticSamples::save() const {
  FieldWriter writer;
  writer.put(epoch_);
  writer.put_count(left_.size());
  for (const PositionRange& range : left_) {
    writer.put(range.first);
    writer.put(range.end);
  }
  return writer.take();
}

Decoded<void> ElasticSamples::load(std::span<const std::byte> bytes) {
  FieldReader reader(bytes, 0);
  const auto epoch = reader.take<std::uint64_t>();
  std::vector<PositionRange> left;
  reader.take_list([&] {
    const std::size_t at = reader.at();
    const PositionRange range{reader.take<std::uint32_t>(), reader.take<std::uint32_t>()};
    if (reader.failed()) return;
    if (range.first >= range.end || range.end > samples_) {
      reader.fail("a range of samples does not fit to the data", at);
    }
    left.push_back(range);
  });
  if (!reader.failed() && left.empty()) reader.fail("no samples are left in the epoch", 0);
  if (!reader.failed() && overlap(left)) reader.fail("ranges of samples overlap", 0);
  if (!reader.failed() && reader.at() != bytes.size()) {
    reader.fail("bytes follow the last range", reader.at());
  }
  if (reader.failed()) return Unexpected{reader.error()};
  left_ = std::move(left);
  if (epoch != epoch_) {
    epoch_ = epoch;
    order_epoch();
  }
  return {};
}

// The ranges that hold the samples `from` to before `end` of those that are left.
std::vector<PositionRange> ElasticSamples::front(std::size_t from, std::size_t end) const {
  std::vector<PositionRange> ranges;
  std::size_t at = 0;
  for (const PositionRange& range : left_) {
    const std::size_t size = range.end - range.first;
    const std::size_t first = std::clamp(from, at, at + size) - at;
    const std::size_t last = std::clamp(end, at, at + size) - at;
    if (first < last) {
      ranges.push_back({static_cast<std::uint32_t>(range.first + first),
                        static_cast<std::uint32_t>(range.first + last)});
    }
    at += size;
  }
  return ranges;
}

void ElasticSamples::order_epoch() {
  order_.resize(samples_);
  std::iota(order_.begin(), order_.end(), 0u);
  Draws draws({.seed = seed_,
               .step = epoch_,
               .tensor = Rng::tensor_id("order of all samples"),
               .purpose = Purpose::data});
  draws.shuffle(std::span(order_));
}

}  // namespace gradwire::data
