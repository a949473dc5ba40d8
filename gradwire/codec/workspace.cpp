#include "gradwire/codec/workspace.h"

#include "gradwire/codec/buffers.h"

namespace gradwire {

Workspace::Workspace() : buffers_(std::make_unique<Buffers>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

}  // namespace gradwire
