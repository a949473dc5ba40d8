# The library, its public headers, the program, and a CMake package: find_package(gradwire) gives
# gradwire::gradwire.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# gradwire/gradwire.h, and what it includes.
target_sources(gradwire PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES
  gradwire/gradwire.h
  gradwire/codec/codec.h
  gradwire/codec/guarantee.h
  gradwire/codec/spec.h
  gradwire/codec/workspace.h
  gradwire/collective/communicator.h
  gradwire/collective/exchange.h
  gradwire/collective/topology.h
  gradwire/core/check.h
  gradwire/core/error.h
  gradwire/core/expected.h
  gradwire/core/random.h
  gradwire/core/telemetry.h
  gradwire/core/thread_pool.h
  gradwire/file/gw_file.h
  gradwire/file/gw_format.h
  gradwire/file/npy.h
  gradwire/file/one_shot.h
  gradwire/file/tensor.h
  gradwire/file/tensor_file.h
  gradwire/method/method.h
  gradwire/method/method_reader.h
  gradwire/method/parsed_method.h
  gradwire/method/note.h
  gradwire/method/registry.h
  gradwire/method/safe_step.h
  gradwire/method/state.h
  gradwire/method/state_file.h
  gradwire/transport/gloo.h
  gradwire/transport/in_process.h
  gradwire/transport/mpi.h
  gradwire/transport/transport.h
  gradwire/wire/frame.h)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gradwire)
install(TARGETS gradwire EXPORT gradwire FILE_SET HEADERS)
install(FILES ${PROJECT_BINARY_DIR}/include/gradwire/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gradwire)
install(EXPORT gradwire NAMESPACE gradwire:: FILE gradwire-targets.cmake DESTINATION ${package_dir})
if(TARGET gradwire_cli)
  install(TARGETS gradwire_cli)
endif()

write_basic_package_version_file(gradwire-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/gradwire-config.cmake.in gradwire-config.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradwire-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/gradwire-config-version.cmake
        DESTINATION ${package_dir})

# gradwire.pc, for builds without CMake. The library is static: --libs names what it links, too.
set(pkg_requires "libhwy libxxhash")
if(mpi_FOUND)
  string(APPEND pkg_requires " mpi-c")
endif()
file(RELATIVE_PATH pkg_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # so that it can be moved
configure_file(cmake/gradwire.pc.in gradwire.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradwire.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
