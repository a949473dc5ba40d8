# The library, its public headers, the program, and a CMake package: find_package(gradwire) gives
# gradwire::gradwire.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Public: gradwire/gradwire.h, and all headers that it includes.
set(headers gradwire/gradwire.h)
set(unread ${headers})
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS ${header} included REGEX "^#include \"gradwire/")
  list(TRANSFORM included REPLACE "^#include \"([^\"]+)\".*" "\\1")
  list(REMOVE_ITEM included ${headers} gradwire/version.h)  # that one is generated
  list(APPEND headers ${included})
  list(APPEND unread ${included})
endwhile()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
target_sources(gradwire PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gradwire)
install(TARGETS gradwire EXPORT gradwire FILE_SET HEADERS)
install(FILES ${PROJECT_BINARY_DIR}/include/gradwire/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gradwire)
install(EXPORT gradwire NAMESPACE gradwire:: FILE gradwire-targets.cmake DESTINATION ${package_dir})
if(TARGET gradwire_cli)
  install(TARGETS gradwire_cli)
  install(TARGETS gradwire_networks LIBRARY DESTINATION lib/gradwire)
endif()

write_basic_package_version_file(gradwire-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/gradwire-config.cmake.in gradwire-config.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradwire-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/gradwire-config-version.cmake
        DESTINATION ${package_dir})

# gradwire.pc, for builds without CMake. The library is static: --libs names what it links, too.
set(pkg_requires "libhwy libxxhash openssl")
if(mpi_FOUND)
  string(APPEND pkg_requires " mpi-c")
endif()
file(RELATIVE_PATH pkg_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # so that it can be moved
configure_file(cmake/gradwire.pc.in gradwire.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradwire.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
