#include "gradwire/elastic/donor.h"

#include <algorithm>

namespace gradwire::elastic {
namespace {

constexpr std::size_t kModelsMax = 2;
constexpr Time kFreshFor{2'000};  // then a newcomer gets a new state
constexpr Time kKeptFor{30'000};  // after its last use
constexpr Time kBurst{200};       // of the rate cap

}  // namespace

const Manifest* Donor::fresh_manifest(Time now) const {
  if (models_.empty() || now - models_.back().made > kFreshFor) return nullptr;
  return &models_.back().manifest;
}

const Manifest* Donor::manifest_of(std::uint64_t step) const {
  for (const Model& model : models_) {
    if (model.manifest.step == step) return &model.manifest;
  }
  return nullptr;
}

Donor::Model* Donor::find(std::uint64_t step) {
  const auto found = std::ranges::find_if(
      models_, [&](const Model& model) { return model.manifest.step == step; });
  return found == models_.end() ? nullptr : &*found;
}

void Donor::add_model(std::uint64_t step, Bytes state, Time now) {
  if (find(step) != nullptr) return;
  Model model{.manifest = {.step = step,
                           .bytes = state.size(),
                           .chunk_bytes = static_cast<std::uint32_t>(options_.chunk_bytes),
                           .hashes = {}},
              .state = std::move(state),
              .made = now,
              .used = now};
  for (std::size_t at = 0; at < model.state.size(); at += options_.chunk_bytes) {
    const std::size_t bytes = std::min(options_.chunk_bytes, model.state.size() - at);
    model.manifest.hashes.push_back(hash_of(std::span(model.state).subspan(at, bytes)));
  }
  models_.push_back(std::move(model));
  if (models_.size() > kModelsMax) models_.pop_front();
  drop_unused(now);
}

void Donor::add_update(const std::shared_ptr<const Update>& update, Time now) {
  // Who took part in a step needs it no more.
  std::erase_if(readers_, [&](const auto& reader) { return update->world.rank_of(reader.first); });
  drop_unused(now);
  if (models_.empty()) return;
  history_.push_back({.step = update->step, .bytes = to_bytes(*update)});
  history_bytes_ += history_.back().bytes.size();
  while (!models_.empty() && history_bytes_ > options_.history_bytes_max) {
    models_.pop_front();
    drop_unused(now);
  }
}

void Donor::drop_unused(Time now) {
  while (!models_.empty() && readers_.empty() && now - models_.front().used > kKeptFor) {
    models_.pop_front();
  }
  while (!history_.empty() &&
         (models_.empty() || history_.front().step <= models_.front().manifest.step)) {
    history_bytes_ -= history_.front().bytes.size();
    history_.pop_front();
  }
}

void Donor::on_ask_chunk(const MemberId& from, const AskChunk& ask, Time now,
                         const SendBytes& send) {
  Model* const model = find(ask.step);
  if (model == nullptr || ask.chunk >= model->manifest.hashes.size()) {
    return send(from, to_bytes(Forgotten{ask.step}));
  }
  model->used = now;
  constexpr std::size_t kAskedMax = 4096;
  if (asked_.size() < kAskedMax) asked_.push_back({from, ask});
}

void Donor::on_ask_updates(const MemberId& from, const AskUpdates& ask, Time now) {
  for (Model& model : models_) model.used = now;
  readers_[from] = ask.step;
}

void Donor::forget(const MemberId& id) {
  readers_.erase(id);
  std::erase_if(asked_, [&](const Asked& asked) { return asked.from == id; });
}

void Donor::serve(std::uint64_t certain, Time now, const SendBytes& send) {
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    auto& [id, next] = *reader;
    const std::uint64_t first =
        history_.empty() ? (models_.empty() ? certain + 1 : models_.front().manifest.step + 1)
                         : history_.front().step;
    if (next < first) {
      send(id, to_bytes(Forgotten{next}));
      reader = readers_.erase(reader);
      continue;
    }
    for (const Kept& kept : history_) {
      if (kept.step < next || kept.step > certain) continue;
      send(id, kept.bytes);
      next = kept.step + 1;
    }
    ++reader;
  }
  serve_chunks(now, send);
}

void Donor::serve_chunks(Time now, const SendBytes& send) {
  const double seconds =
      std::chrono::duration<double>(std::min(now - last_served_, kBurst)).count();
  last_served_ = now;
  budget_bytes_ =
      std::min(budget_bytes_ + seconds * options_.bytes_per_second,
               std::chrono::duration<double>(kBurst).count() * options_.bytes_per_second);
  while (!asked_.empty() && (options_.bytes_per_second <= 0 || budget_bytes_ > 0)) {
    const Asked asked = asked_.front();
    asked_.pop_front();
    Model* const model = find(asked.ask.step);
    if (model == nullptr) {
      send(asked.from, to_bytes(Forgotten{asked.ask.step}));
      continue;
    }
    const std::size_t at = std::size_t{asked.ask.chunk} * options_.chunk_bytes;
    const auto bytes = std::span(model->state)
                           .subspan(at, std::min(options_.chunk_bytes, model->state.size() - at));
    budget_bytes_ -= static_cast<double>(bytes.size());
    send(asked.from,
         to_bytes(Chunk{asked.ask.step, asked.ask.chunk, {bytes.begin(), bytes.end()}}));
  }
}

}  // namespace gradwire::elastic
