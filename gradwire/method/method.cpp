#include "gradwire/method/method.h"

#include <algorithm>

namespace gradwire {

std::size_t MethodTensor::elements() const {
  std::size_t elements = 1;
  for (const std::size_t dimension : shape) elements *= dimension;
  return elements;
}

void MethodReport::add(const ExchangeReport& exchange) {
  ++exchanges;
  poisoned += exchange.poisoned ? 1 : 0;
  message_bytes += exchange.message_bytes;
  bytes_sent += exchange.bytes_sent;
  bytes_received += exchange.bytes_received;
  encode_seconds += exchange.encode_seconds;
  exchange_seconds += exchange.exchange_seconds;
  decode_seconds += exchange.decode_seconds;
}

void MethodReport::add(const MethodReport& part) {
  exchanges += part.exchanges;
  poisoned += part.poisoned;
  uploads = std::max(uploads, part.uploads);
  uploads_skipped = std::max(uploads_skipped, part.uploads_skipped);
  message_bytes += part.message_bytes;
  bytes_sent += part.bytes_sent;
  bytes_received += part.bytes_received;
  encode_seconds += part.encode_seconds;
  exchange_seconds += part.exchange_seconds;
  decode_seconds += part.decode_seconds;
}

}  // namespace gradwire
