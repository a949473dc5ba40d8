# The Python package: gradwire/*.py and the extension gradwire/_native beside them, in
# ${PROJECT_BINARY_DIR}/python, where PYTHONPATH finds both.

set(package_out ${PROJECT_BINARY_DIR}/python/gradwire)
room_sources(sources python/native)
pybind11_add_module(python_native MODULE NO_EXTRAS ${sources})
target_link_libraries(python_native PRIVATE gradwire record)
target_link_options(python_native PRIVATE -Wl,--as-needed)  # MPI is not for plug-ins
set_target_properties(python_native PROPERTIES OUTPUT_NAME _native
                      LIBRARY_OUTPUT_DIRECTORY ${package_out})

set(package_in ${PROJECT_SOURCE_DIR}/python/gradwire)
file(GLOB_RECURSE package_sources RELATIVE ${package_in} CONFIGURE_DEPENDS ${package_in}/*.py
     ${package_in}/py.typed)
foreach(source IN LISTS package_sources)
  cmake_path(GET source PARENT_PATH directory)
  file(MAKE_DIRECTORY ${package_out}/${directory})
  file(CREATE_LINK ${package_in}/${source} ${package_out}/${source} SYMBOLIC)
endforeach()
