// Why a TLS connection failed, in a sentence that says what to do. Also the answers between ranks
// of which only one speaks TLS. Never quotes bytes of keys, secrets or messages.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "gradwire/transport/channel.h"
#include "gradwire/transport/tls_context.h"

struct ssl_st;

namespace gradwire {

// Takes the oldest of OpenSSL's errors of this thread, and clears them.
std::string take_tls_reason(const ssl_st* connection, TlsContext::Credentials credentials);

// The first bytes of a peer that speaks TLS: a handshake, or an alert.
bool looks_like_tls(std::span<const std::byte> bytes);

// What a rank without encryption answers to a peer that speaks TLS, and a rank with encryption to a
// peer that does not. They are alerts of TLS, so each end learns what the other one lacks.
inline constexpr std::array<unsigned char, 7> kSpeakPlainAlert = {21, 3, 3, 0, 2, 2, 71};
inline constexpr std::array<unsigned char, 7> kSpeakTlsAlert = {21, 3, 3, 0, 2, 2, 40};

// For a channel without encryption, by the first bytes of its peer: if they are TLS, answers that
// there is none here, and returns true.
bool refuse_tls(Channel& channel, std::span<const std::byte> first);

inline constexpr const char* kPeerIsPlain =
    "the other end does not encrypt: start all ranks with the same secret, or with certificates";
inline constexpr const char* kPeerIsEncrypted =
    "the other end asks for encryption, and this rank was started without: "
    "start all ranks with the same secret, or with certificates";

}  // namespace gradwire
