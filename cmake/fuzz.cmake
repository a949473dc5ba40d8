# The fuzz targets: fuzz/NAME_fuzz.cpp is target NAME; decode_fuzz.cpp is one for every codec of
# fuzz/codecs.h, decode_CODEC. Programs are in fuzzers/ of the build directory. With
# GRADWIRE_LIBFUZZER they are libFuzzer's, for tools/fuzz. Otherwise fuzz/replay.cpp is their main
# function, and they are tests: all seeds, and a fixed number of mutations.
#
# Seeds are written at build time, to seeds/NAME of the build directory, by what fuzz/seeds.cpp
# makes. Inputs that once found a bug are kept in fuzz/regressions/NAME.

if(GRADWIRE_SANITIZE MATCHES thread)
  return()  # no target has threads
endif()

set(fuzz_runs 10000)  # of each test
if(GRADWIRE_SANITIZE)
  set(fuzz_runs 1500)
endif()

# --- Seeds ----------------------------------------------------------------------------------------

add_executable(fuzz_seeds fuzz/seeds.cpp)
target_link_libraries(fuzz_seeds PRIVATE gradwire)
set_target_properties(fuzz_seeds PROPERTIES RUNTIME_OUTPUT_DIRECTORY fuzzers OUTPUT_NAME seeds)

set(fuzz_seeds_directory ${PROJECT_BINARY_DIR}/seeds)
add_custom_command(
  OUTPUT ${fuzz_seeds_directory}.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${fuzz_seeds_directory}
  COMMAND fuzz_seeds ${fuzz_seeds_directory}
  COMMAND ${CMAKE_COMMAND} -E touch ${fuzz_seeds_directory}.stamp
  DEPENDS fuzz_seeds
  COMMENT "Writing the seeds of the fuzz targets" VERBATIM)
add_custom_target(fuzz_seeds_written ALL DEPENDS ${fuzz_seeds_directory}.stamp)

# --- Targets --------------------------------------------------------------------------------------

# What all targets share, compiled once. With it the readers of data/ that need only gradwire: the
# room itself is not built where there is no program.
add_library(fuzz_common OBJECT fuzz/asan_options.cpp fuzz/check_decoder.cpp fuzz/repair.cpp
                               fuzz/round_trip.cpp data/refusal.cpp data/idx.cpp data/cifar.cpp)
if(GRADWIRE_LIBFUZZER)
  target_sources(fuzz_common PRIVATE fuzz/libfuzzer.cpp)
else()
  target_sources(fuzz_common PRIVATE fuzz/replay.cpp fuzz/mutator.cpp)
endif()
target_link_libraries(fuzz_common PUBLIC gradwire)

function(add_fuzz_target name)
  add_executable(fuzz_${name} ${ARGN})
  target_link_libraries(fuzz_${name} PRIVATE fuzz_common)
  set_target_properties(fuzz_${name} PROPERTIES
                        RUNTIME_OUTPUT_DIRECTORY fuzzers OUTPUT_NAME ${name})
  if(GRADWIRE_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  set(inputs ${fuzz_seeds_directory}/${name})
  if(EXISTS ${PROJECT_SOURCE_DIR}/fuzz/regressions/${name})
    list(APPEND inputs fuzz/regressions/${name})
  endif()
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} -runs=${fuzz_runs} -seed=1 ${inputs}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

file(GLOB sources CONFIGURE_DEPENDS fuzz/*_fuzz.cpp)
list(FILTER sources EXCLUDE REGEX "/decode_fuzz\\.cpp$")
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_fuzz_target(${name} ${source})
endforeach()

add_library(fuzz_decode OBJECT fuzz/decode_fuzz.cpp)
target_link_libraries(fuzz_decode PUBLIC gradwire)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS fuzz/codecs.h)
file(STRINGS fuzz/codecs.h codecs REGEX "^    {\"")
foreach(line IN LISTS codecs)
  string(REGEX REPLACE "^    {\"([a-z0-9_]+)\",.*" "\\1" codec "${line}")
  add_fuzz_target(decode_${codec} fuzz/decode_codec.cpp)
  target_link_libraries(fuzz_decode_${codec} PRIVATE fuzz_decode)
  target_compile_definitions(fuzz_decode_${codec} PRIVATE GW_FUZZ_CODEC="${codec}")
endforeach()
