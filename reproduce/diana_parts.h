// The parts of the claim on DIANA that have sources of their own.
#pragma once

#include <string>

#include "reproduce/claim.h"
#include "reproduce/workbench.h"

namespace gradwire::reproduce {

// Blocks of l2 and of linf norms, and how large they should be.
inline constexpr std::size_t kBlockRuns = 25;
void add_blocks(Workbench& bench, Claim& claim);

// Gradients of batches, with steps of one length and with shorter and shorter ones; and what
// natural compression adds to the noise, on workers only and both ways.
inline constexpr std::size_t kNoiseRuns = 32;
void add_noise(Workbench& bench, Claim& claim);

// A network: the norm of its gradient.
inline constexpr std::size_t kNetworkRuns = 5;
inline constexpr std::size_t kNetworkTrials = kNetworkRuns;
void add_network(Workbench& bench, Claim& claim);

// A method of the race, and the codec of its workers.
struct Racer {
  const char* name;
  const char* method;
  const char* codec;
};

// DIANA first, then the methods without shifts, all with an exact downlink.
inline constexpr Racer kRacers[] = {
    {"DIANA", "diana(qsgd(bits=2, norm=linf, bucket=512))", "qsgd(bits=2, norm=linf, bucket=512)"},
    {"QSGD", "direct(qsgd(bits=4, norm=l2, bucket=512), down=none)",
     "qsgd(bits=4, norm=l2, bucket=512)"},
    {"TernGrad", "direct(terngrad(clip=off), down=none)", "terngrad(clip=off)"},
    {"SignSGD", "direct(sign, down=none)", "sign"},
    {"DQGD", "dqgd", "qsgd(bits=2, norm=l2, bucket=512)"}};

// Bits of payload per coordinate and step. All methods of the race have payloads of a fixed length.
double payload_bits(const std::string& codec, std::size_t elements);

}  // namespace gradwire::reproduce
