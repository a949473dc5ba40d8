// What moving bytes takes a processor here: a stream through TCP on the loopback, and frames'
// checksums.
#pragma once

namespace gradwire::advise {

// Seconds of processor time to send a byte and to receive one. Throws Error.
double socket_byte_seconds();

// Seconds for each byte of a frame that is sealed or checked.
double checksum_byte_seconds();

}  // namespace gradwire::advise
