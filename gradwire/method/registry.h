// The registry of methods: names that specs may begin with. Rooms beside the library add their own,
// each once and before methods are made: from then on make_method, check_method and listings know
// it. Not for several threads at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gradwire/method/method.h"
#include "gradwire/method/method_reader.h"

namespace gradwire {

// A spec that has been understood: how to make the method.
struct MethodPlan {
  std::string spec;
  std::function<std::unique_ptr<Method>(Communicator&, std::vector<MethodTensor>,
                                        const MethodOptions&)>
      make;
  const NoteKind* note = nullptr;  // of its reports; null where they have none
};

using ReadMethod = MethodPlan (*)(MethodReader&);

// The name must not live shorter than the program. Adding it again changes nothing.
void register_method(const char* name, ReadMethod read, std::vector<MethodExample> examples);

// The kind of note that reports of the method have; null for most methods. Throws SpecError.
const NoteKind* note_kind_of(std::string_view spec);

// Of all methods that listings know: what records may hold.
std::vector<const NoteKind*> note_kinds();

// Of those that were added.
const std::vector<MethodExample>& registered_examples();

}  // namespace gradwire
