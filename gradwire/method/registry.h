// The registry of methods: the names that specs may begin with. The library's own methods are in
// methods.inc; programs add theirs with register_method. From any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/method_reader.h"
#include "gradwire/method/parsed_method.h"

namespace gradwire {

// A method as its own file describes it.
struct MethodEntry {
  std::string name;
  std::function<ParsedMethod(MethodReader&)> read;  // throws SpecError
  std::vector<MethodExample> examples;              // for listings
};

// From then on parse_method, make_method and example_methods know it. A name that is known already
// stays as it is.
void register_method(MethodEntry entry);

// For MethodExample::topologies: all, those where each rank has a message of its own, and those
// whose owners send the mean down.
std::string any_topology();
std::string topologies_with_messages();
std::string topologies_with_owners();

// The kinds of notes that reports of the known methods have: what records may hold.
std::vector<const NoteKind*> note_kinds();

}  // namespace gradwire
