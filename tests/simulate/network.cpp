#include "tests/simulate/network.h"

#include <algorithm>
#include <utility>

namespace gradwire::simulate {

void Network::add_process() {
  for (auto& row : ends_) row.emplace_back();
  ends_.emplace_back(ends_.size() + 1);
  for (auto& row : cut_) row.push_back(0);
  cut_.emplace_back(cut_.size() + 1, 0);
}

bool Network::next(Event& event) {
  if (queue_.empty()) return false;
  event = queue_.top();
  queue_.pop();
  now_ = event.at;
  return true;
}

void Network::schedule(Clock delay, Event event) {
  event.at = now_ + delay;
  event.order = ++order_;
  queue_.push(event);
}

void Network::again(Event event, Clock at) {
  event.at = at;
  event.order = ++order_;
  queue_.push(event);
}

Clock Network::delay() { return dice_.percent(2) ? dice_.between(20, 400) : dice_.between(1, 15); }

void Network::enqueue(std::uint32_t from, std::uint32_t to, std::uint64_t generation,
                      Packet packet) {
  std::uint32_t index = static_cast<std::uint32_t>(packets_.size());
  if (free_packets_.empty()) {
    packets_.push_back(std::move(packet));
  } else {
    index = free_packets_.back();
    free_packets_.pop_back();
    packets_[index] = std::move(packet);
  }
  Clock& last = ends_[to][from].last_arrival;
  last = std::max(last, now_ + delay());
  Event event{.at = last,
              .order = ++order_,
              .kind = Event::Kind::packet,
              .to = to,
              .from = from,
              .generation = generation,
              .packet = index};
  queue_.push(event);
}

Packet Network::take_packet(const Event& event) {
  free_packets_.push_back(event.packet);
  return std::exchange(packets_[event.packet], {});
}

void Network::send(std::uint32_t from, std::uint32_t to, Packet packet) {
  const std::uint64_t generation = ends_[from][to].generation;
  if (generation != 0) enqueue(from, to, generation, std::move(packet));
}

void Network::send_unconnected(std::uint32_t from, std::uint32_t to, Packet packet) {
  enqueue(from, to, 0, std::move(packet));
}

bool Network::arrives(const Event& event) {
  if (cut_[event.from][event.to] > 0) {
    ends_[event.to][event.from].held.push_back(event);
    return false;
  }
  const bool is_lost = event.generation != 0 && !is_current(event);
  if (is_lost) take_packet(event);
  return !is_lost;
}

void Network::connect(std::uint32_t from, std::uint32_t to) {
  EndPoint& end = ends_[from][to];
  if (from == to || end.generation != 0 || end.is_connecting) return;
  end.is_connecting = true;
  schedule(delay(), {.kind = Event::Kind::connect, .to = from, .from = to});
}

bool Network::establish(std::uint32_t from, std::uint32_t to, bool is_possible) {
  ends_[from][to].is_connecting = false;
  if (!is_possible || ends_[from][to].generation != 0) return false;
  ends_[from][to].generation = ends_[to][from].generation = ++generation_;
  return true;
}

void Network::close(std::uint32_t from, std::uint32_t to, Notice notice) {
  const std::uint64_t generation = std::exchange(ends_[from][to].generation, 0);
  if (generation != 0 && notice == Notice::tell) enqueue(from, to, generation, Closed{});
}

void Network::heal(std::uint32_t from, std::uint32_t to) {
  if (cut_[from][to] == 0 || --cut_[from][to] > 0) return;
  // What was sent meanwhile is sent again, in order.
  EndPoint& end = ends_[to][from];
  end.last_arrival = std::max(end.last_arrival, now_ + delay());
  for (Event& event : std::exchange(end.held, {})) again(event, end.last_arrival);
}

void Network::heal_all() {
  for (std::uint32_t from = 0; from < cut_.size(); ++from) {
    for (std::uint32_t to = 0; to < cut_.size(); ++to) {
      if (cut_[from][to] > 0) cut_[from][to] = 1;
      heal(from, to);
    }
  }
}

}  // namespace gradwire::simulate
