#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gradwire/kernel/copy.cpp"
#include "gradwire/kernel/copy.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace gradwire::kernel::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void copy_streamed(std::span<const std::byte> source, std::byte* target) {
  if (source.empty()) return;
  const hn::ScalableTag<std::uint8_t> d;
  constexpr std::size_t kLine = 64;
  const std::size_t lanes = hn::Lanes(d);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(target) % kLine;
  const std::size_t head = std::min(source.size(), misaligned == 0 ? 0 : kLine - misaligned);
  std::memcpy(target, source.data(), head);
  std::size_t i = head;
  for (; i + kLine <= source.size(); i += kLine) {
    for (std::size_t k = i; k < i + kLine; k += lanes) {
      const auto* from = reinterpret_cast<const std::uint8_t*>(source.data() + k);
      hn::Stream(hn::LoadU(d, from), d, reinterpret_cast<std::uint8_t*>(target + k));
    }
  }
  std::memcpy(target + i, source.data() + i, source.size() - i);
}

}  // namespace gradwire::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradwire::kernel {

HWY_EXPORT(copy_streamed);

void copy_streamed(std::span<const std::byte> source, std::byte* target) {
  HWY_DYNAMIC_DISPATCH(copy_streamed)(source, target);
}

void finish_streamed() { hwy::FlushStream(); }

}  // namespace gradwire::kernel
#endif  // HWY_ONCE
