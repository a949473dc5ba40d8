#include "gradwire/method/method.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gradwire/codec/spec.h"

namespace gradwire {

std::size_t MethodTensor::elements() const {
  std::size_t elements = 1;
  for (const std::size_t dimension : shape) elements *= dimension;
  return elements;
}

std::string MethodExample::memory() const {
  return format_number(vectors) + (owner_vectors > 0 ? " + 1/N" : "") +
         (more.empty() ? "" : " + " + more);
}

namespace {

void add_late(const std::vector<std::size_t>& more, std::vector<std::size_t>& late) {
  if (more.empty()) return;
  const std::vector<std::size_t> before = std::exchange(late, {});
  std::ranges::set_union(before, more, std::back_inserter(late));
}

}  // namespace

void MethodReport::add(const ExchangeReport& exchange) {
  ++exchanges;
  poisoned += exchange.poisoned ? 1 : 0;
  add_late(exchange.late, late);
  traffic += exchange.traffic;
  phases += exchange.phases;
}

void MethodReport::add(const MethodReport& part) {
  exchanges += part.exchanges;
  poisoned += part.poisoned;
  add_late(part.late, late);
  uploads = std::max(uploads, part.uploads);
  uploads_skipped = std::max(uploads_skipped, part.uploads_skipped);
  traffic += part.traffic;
  phases += part.phases;
}

}  // namespace gradwire
