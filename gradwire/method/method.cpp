#include "gradwire/method/method.h"

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

}  // namespace gradwire
