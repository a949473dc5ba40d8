#include "gradwire/elastic/fetcher.h"

#include <algorithm>

namespace gradwire::elastic {
namespace {

constexpr Time kAskAgain{500};
constexpr Time kLate{3'000};             // a chunk that was asked for
constexpr std::size_t kAskedAtOnce = 4;  // chunks of one donor

}  // namespace

void Fetcher::begin_again() {
  manifest_.reset();
  same_.clear();
  parts_.clear();
  missing_ = 0;
  is_taken_ = false;
  updates_.clear();
  next_ask_ = {};
}

void Fetcher::tick(const std::vector<MemberId>& donors, Time now, const SendBytes& send) {
  if (donors.empty()) return;
  if (!manifest_ || (!is_taken_ && same_.empty())) return ask_model(donors, now, send);
  if (!is_taken_) {
    ask_model(donors, now, send);  // more donors
    return ask_chunks(donors, now, send);
  }
  ask_updates(donors, now, send);
}

void Fetcher::ask_model(const std::vector<MemberId>& donors, Time now, const SendBytes& send) {
  if (now < next_ask_) return;
  next_ask_ = now + kAskAgain;
  for (const MemberId& donor : donors) {
    if (same_.contains(donor) || refused_.contains(donor)) continue;
    const bool has_source = manifest_ && !same_.empty();
    send(donor, to_bytes(AskModel{!has_source, has_source ? manifest_->step : 0}));
  }
  if (std::ranges::all_of(donors, [&](const MemberId& id) { return refused_.contains(id); })) {
    refused_.clear();  // nobody else is there
  }
}

std::size_t Fetcher::asked_of(const MemberId& donor) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      parts_, [&](const Part& part) { return !part.bytes && part.asked == donor; }));
}

void Fetcher::ask_chunks(const std::vector<MemberId>& donors, Time now, const SendBytes& send) {
  for (Part& part : parts_) {
    if (part.bytes || !part.asked || now - part.asked_at <= kLate) continue;
    if (same_.size() > 1) same_.erase(*part.asked);  // it may come back with its next answer
    part.asked.reset();
  }
  for (const MemberId& donor : donors) {
    if (!same_.contains(donor)) continue;
    std::size_t open = asked_of(donor);
    for (std::size_t i = 0; i < parts_.size() && open < kAskedAtOnce; ++i) {
      Part& part = parts_[i];
      if (part.bytes || part.asked) continue;
      part.asked = donor;
      part.asked_at = now;
      ++open;
      send(donor, to_bytes(AskChunk{manifest_->step, static_cast<std::uint32_t>(i)}));
    }
  }
}

void Fetcher::ask_updates(const std::vector<MemberId>& donors, Time now, const SendBytes& send) {
  if (now < next_ask_) return;
  next_ask_ = now + kAskAgain;
  if (now - last_update_ < kAskAgain) return;
  // One donor at a time; the next one if nothing comes.
  std::uint64_t step = next_step_;
  while (updates_.contains(step)) ++step;
  for (std::size_t i = 0; i < donors.size(); ++i) {
    const MemberId& donor = donors[donor_turn_++ % donors.size()];
    const bool has_history = same_.empty() || same_.contains(donor);
    if (!has_history) continue;
    return send(donor, to_bytes(AskUpdates{step}));
  }
  begin_again();  // all who had the history are gone
}

void Fetcher::on_manifest(const MemberId& from, const Manifest& manifest) {
  if (is_taken_ || refused_.contains(from)) return;
  const bool is_orphan = manifest_ && same_.empty();
  if (!manifest_ || (is_orphan && manifest != *manifest_)) {
    begin_again();
    manifest_ = manifest;
    parts_.resize(manifest.hashes.size());
    missing_ = parts_.size();
  }
  if (manifest == *manifest_) same_.insert(from);
}

void Fetcher::on_chunk(const MemberId& from, Chunk chunk) {
  if (!manifest_ || is_taken_ || chunk.step != manifest_->step) return;
  if (chunk.chunk >= parts_.size() || parts_[chunk.chunk].bytes) return;
  Part& part = parts_[chunk.chunk];
  if (hash_of(chunk.bytes) != manifest_->hashes[chunk.chunk]) {
    ++wrong_chunks_;
    refused_.insert(from);
    return on_lost(from);
  }
  part.bytes = std::move(chunk.bytes);
  part.asked.reset();
  --missing_;
}

void Fetcher::on_lost(const MemberId& donor) {
  same_.erase(donor);
  for (Part& part : parts_) {
    if (!part.bytes && part.asked == donor) part.asked.reset();
  }
}

void Fetcher::on_forgotten(const MemberId& from, const Forgotten& forgotten) {
  const bool is_of_state = manifest_ && !is_taken_ && forgotten.step == manifest_->step;
  const bool is_of_updates = is_taken_ && forgotten.step == next_step_;
  if (!is_of_state && !is_of_updates) return;
  on_lost(from);
  if (same_.empty()) begin_again();
}

void Fetcher::on_update(Update update, Time now) {
  if (!is_taken_ || update.step < next_step_) return;
  constexpr std::size_t kAhead = 1 << 16;
  if (update.step > next_step_ + kAhead) return;
  last_update_ = now;
  updates_.try_emplace(update.step, std::move(update));
}

std::optional<Bytes> Fetcher::take_state() {
  if (!manifest_ || is_taken_ || missing_ > 0) return std::nullopt;
  Bytes state;
  state.reserve(manifest_->bytes);
  for (Part& part : parts_) state.insert(state.end(), part.bytes->begin(), part.bytes->end());
  parts_.clear();
  is_taken_ = true;
  next_step_ = manifest_->step + 1;
  next_ask_ = {};
  last_update_ = {};
  return state;
}

std::optional<Update> Fetcher::take_update(std::uint64_t up_to) {
  if (!is_taken_ || next_step_ > up_to) return std::nullopt;
  const auto found = updates_.find(next_step_);
  if (found == updates_.end()) return std::nullopt;
  Update update = std::move(found->second);
  updates_.erase(found);
  ++next_step_;
  return update;
}

}  // namespace gradwire::elastic
