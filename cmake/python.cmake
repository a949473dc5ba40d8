# The Python package: gradwire/*.py and the extension gradwire/_native beside them, in
# ${PROJECT_BINARY_DIR}/python, where PYTHONPATH finds both.

set(PYBIND11_FINDPYTHON ON)
set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python that the package is for")
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 REQUIRED)

set(package_out ${PROJECT_BINARY_DIR}/python/gradwire)
room_sources(sources python/native)
pybind11_add_module(python_native MODULE NO_EXTRAS ${sources})
target_link_libraries(python_native PRIVATE gradwire record)
target_link_options(python_native PRIVATE -Wl,--as-needed)  # MPI is not for plug-ins
set_target_properties(python_native PROPERTIES OUTPUT_NAME _native
                      LIBRARY_OUTPUT_DIRECTORY ${package_out})

set(package ${PROJECT_SOURCE_DIR}/python/gradwire)
file(GLOB package_sources CONFIGURE_DEPENDS RELATIVE ${package} ${package}/*.py ${package}/py.typed
     ${package}/integrations/*.py)
file(MAKE_DIRECTORY ${package_out}/integrations)
foreach(source IN LISTS package_sources)
  file(CREATE_LINK ${package}/${source} ${package_out}/${source} SYMBOLIC)
endforeach()
