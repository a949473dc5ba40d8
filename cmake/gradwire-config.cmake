include(CMakeFindDependencyMacro)
find_dependency(hwy)
find_dependency(Threads)
find_dependency(PkgConfig)
pkg_check_modules(xxhash REQUIRED QUIET IMPORTED_TARGET libxxhash)

include(${CMAKE_CURRENT_LIST_DIR}/gradwire-targets.cmake)
