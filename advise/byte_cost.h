// Measures the processor time per byte of this machine: of a TCP stream over the loopback, of frame
// checksums, and of sums in memory.
#pragma once

namespace gradwire::advise {

// Seconds of processor time to send one byte and to receive it. Throws Error.
double socket_byte_seconds();

// Seconds per byte of a frame that is sealed or verified.
double checksum_byte_seconds();

// Seconds per byte of an array that is added to another one, beyond the caches.
double sum_byte_seconds();

}  // namespace gradwire::advise
