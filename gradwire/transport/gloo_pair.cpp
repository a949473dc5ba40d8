#include "gradwire/transport/gloo_pair.h"

#include <cstring>
#include <exception>
#include <mutex>
#include <tuple>

namespace gradwire {
namespace {

using gloo::transport::tcp::Address;
using gloo::transport::tcp::UnboundBuffer;

bool names(const GlooPair::WeakBuffer& weak, const UnboundBuffer& buffer) {
  const gloo::NonOwningPtr<UnboundBuffer> strong(weak);
  return strong && strong.operator->() == &buffer;
}

// Gloo writes [10.0.0.3]:4711; only IPv6 needs the brackets.
std::string plain(const Address& address) {
  std::string text = address.str();
  const std::size_t end = text.find(']');
  if (text.empty() || text[0] != '[' || end == std::string::npos) return text;
  if (text.find(':') < end) return text;
  return text.substr(1, end - 1) + text.substr(end + 1);
}

}  // namespace

bool GlooPair::is_broken(Pair& pair) {
  const std::unique_lock lock(pair.*(&GlooPair::m_), std::try_to_lock);
  if (!lock) return false;
  return pair.*(&GlooPair::ex_) != nullptr || pair.*(&GlooPair::state_) == CLOSED;
}

std::string GlooPair::reason(Pair& pair) {
  std::exception_ptr exception;
  {
    const std::lock_guard lock(pair.*(&GlooPair::m_));
    exception = pair.*(&GlooPair::ex_);
  }
  if (!exception) return "";
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return gloo_reason(error.what());
  } catch (...) {
    return "";
  }
}

std::string GlooPair::own_address(Pair& pair) {
  const std::lock_guard lock(pair.*(&GlooPair::m_));
  return plain(pair.*(&GlooPair::self_));
}

std::string GlooPair::peer_address(Pair& pair) {
  const std::lock_guard lock(pair.*(&GlooPair::m_));
  return plain(pair.*(&GlooPair::peer_));
}

bool GlooPair::replace(Pair& pair, std::uint64_t slot, const Buffer& from, const Buffer& to,
                       const WeakBuffer& weak_to) {
  const std::lock_guard lock(pair.*(&GlooPair::m_));
  return replace_queued(pair, slot, from, to, weak_to) ||
         replace_half_done(pair, from, to, weak_to);
}

// Sends that the peer has not asked for yet, and receives for which nothing has come.
bool GlooPair::replace_queued(Pair& pair, std::uint64_t slot, const Buffer& from, const Buffer& to,
                              const WeakBuffer& weak_to) {
  for (auto* queues :
       {&(pair.*(&GlooPair::localPendingSend_)), &(pair.*(&GlooPair::localPendingRecv_))}) {
    const auto queue = queues->find(slot);
    if (queue == queues->end()) continue;
    for (auto& [buffer, offset, bytes] : queue->second) {
      if (!names(buffer, from)) continue;
      buffer = weak_to;
      if (queues == &(pair.*(&GlooPair::localPendingRecv_))) bytes = to.size;
      return true;
    }
  }
  return false;
}

// Sends on their way into the socket, and the one message that is being read.
bool GlooPair::replace_half_done(Pair& pair, const Buffer& from, const Buffer& to,
                                 const WeakBuffer& weak_to) {
  for (gloo::transport::tcp::Op& write : pair.*(&GlooPair::tx_)) {
    if (!names(write.ubuf, from)) continue;
    write.ubuf = weak_to;
    return true;
  }
  gloo::transport::tcp::Op& read = pair.*(&GlooPair::rx_);
  if (!names(read.ubuf, from) || read.preamble.length > to.size) return false;
  const std::size_t there = read.nread - sizeof(read.preamble);
  if (there > 0) std::memcpy(to.ptr, from.ptr, there);
  read.ubuf = weak_to;
  read.nbytes = to.size;
  return true;
}

// "[../gloo/pair.cc:589] Read error [10.0.0.3]:4711: Connection reset by peer" and its like. What
// stands behind the last colon is the system's reason; that a connection is closed, its user says.
std::string gloo_reason(const std::string& what) {
  const std::size_t colon = what.rfind(": ");
  if (colon != std::string::npos) return what.substr(colon + 2);
  if (what.find("closed by peer") != std::string::npos) return "";
  const std::size_t place = what.find("] ");
  return place == std::string::npos ? what : what.substr(place + 2);
}

}  // namespace gradwire
