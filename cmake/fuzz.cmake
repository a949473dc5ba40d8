# Every fuzz/NAME_fuzz.cpp is a program, with its seeds in fuzz/corpus/NAME. GRADWIRE_LIBFUZZER
# makes it a libFuzzer program. Otherwise fuzz/replay.cpp is its main: it takes the same arguments,
# and runs the seeds and a fixed number of mutations of them, as a test.

file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/*_fuzz.cpp)
foreach(source IN LISTS fuzzers)
  get_filename_component(program ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${program})

  add_executable(${program} ${source})
  target_link_libraries(${program} PRIVATE gradwire)
  if(GRADWIRE_LIBFUZZER)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${program} PRIVATE fuzz/replay.cpp)
    add_test(NAME fuzz.${name} COMMAND ${program} -runs=20000 -seed=1 fuzz/corpus/${name}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endforeach()
