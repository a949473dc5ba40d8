#include "gradwire/codec/workspace.h"

#include "gradwire/codec/buffers.h"

namespace gradwire {

Workspace::Workspace() : buffers_(std::make_unique<Buffers>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

void Workspace::grow_to(const Workspace& other) { buffers_->grow_to(*other.buffers_); }

}  // namespace gradwire
