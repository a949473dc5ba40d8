# One GoogleTest program a room, from the *_test.cpp beside the sources, and one from tests/ for
# what spans rooms. Tests run in the top directory. Labels come from names: Thread anywhere in a
# test's name gives "threads" (these also run under TSan), a suite whose name ends in Slow gives
# "slow" (left out of `make test`). Suites that begin with Fault look at the clock, and Identity
# fills the machine: both run alone.

find_package(GTest REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
include(GoogleTest)

function(add_room_test name room)
  file(GLOB sources CONFIGURE_DEPENDS ${room}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  light(${name})
  target_link_libraries(${name} PRIVATE gradwire ${dependencies} ${ARGN} Eigen3::Eigen
                                        GTest::gtest_main)

  set(how DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(alone "Fault*:*/Identity.*")
  gtest_discover_tests(${name} ${how} TEST_FILTER "-*Thread*:*Slow.*:${alone}")
  gtest_discover_tests(${name} ${how} TEST_FILTER "${alone}:-*Thread*" PROPERTIES RUN_SERIAL TRUE)
  gtest_discover_tests(${name} ${how} TEST_FILTER "*Thread*:-*Slow.*" PROPERTIES LABELS threads)
  gtest_discover_tests(${name} ${how} TEST_FILTER "*Slow.*" PROPERTIES LABELS slow)
endfunction()

foreach(room IN LISTS rooms)
  cmake_path(GET room FILENAME name)  # lgreco_test for method/lgreco
  add_room_test(${name}_test gradwire/${room})
endforeach()
add_room_test(rooms_test tests)

# The simulator of memberships: a library, the program `simulate`, and 2,000 seeds as tests.
room_sources(sources tests/simulate)
add_library(simulation STATIC ${sources})
target_link_libraries(simulation PUBLIC gradwire)
add_executable(simulate tests/simulate/main.cpp)
target_link_libraries(simulate PRIVATE simulation)
add_room_test(simulate_test tests/simulate simulation)

# One process, one rank: what tests start where threads will not do. They find it here.
file(GLOB sources CONFIGURE_DEPENDS tests/ranks/*.cpp)
add_executable(ranks ${sources} gradwire/transport/scenarios_test.cpp)
target_link_libraries(ranks PRIVATE gradwire ${dependencies})
foreach(test transport_test collective_test rooms_test)
  if(TARGET ${test})
    target_compile_definitions(${test} PRIVATE GRADWIRE_RANKS_PROGRAM="$<TARGET_FILE:ranks>")
    add_dependencies(${test} ranks)
  endif()
endforeach()

# A short storm: an elastic run whose processes are killed. tools/storm alone is the long one.
add_test(NAME storm
         COMMAND tools/storm --processes 5 --mean-seconds 1.5 --minutes 0.2 --no-times
                 --command "$<TARGET_FILE:ranks> elastic ms=10 wait=60000"
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(storm PROPERTIES RUN_SERIAL TRUE TIMEOUT 180)

if(TARGET gradwire_cli)
  add_room_test(record_test record record)
  add_room_test(data_test data data)
  add_room_test(convex_test convex convex)
  add_room_test(train_test train train)
  add_room_test(report_test report report)
  add_room_test(console_test console console)
  add_room_test(launch_test launch launch)
  add_room_test(bench_test bench bench)
  add_room_test(advise_test advise advise)
  add_room_test(session_rank_test session/rank session_rank)
  add_room_test(session_test session session)
  add_room_test(reproduce_test reproduce reproduce)
  add_room_test(watch_test watch watch PkgConfig::httplib)
  add_room_test(cli_test cli cli)
  foreach(test train_test advise_test session_test reproduce_test cli_test)
    if(TARGET ${test})
      add_dependencies(${test} gradwire_networks)
    endif()
  endforeach()

  # libtorch's kernels depend on the machine. One that only machines without AVX-512 use writes past
  # its memory (docs/onednn.md). So networks are also tried with the kernels of such a machine, and
  # with glibc's checks of the heap. One process for all tests: loading libtorch takes longer than
  # most of them.
  set(as_avx2 env DNNL_MAX_CPU_ISA=AVX2)
  find_library(MALLOC_DEBUG NAMES libc_malloc_debug.so.0)
  mark_as_advanced(MALLOC_DEBUG)
  if(MALLOC_DEBUG AND NOT GRADWIRE_SANITIZE)  # sanitizers have a heap of their own
    list(APPEND as_avx2 LD_PRELOAD=${MALLOC_DEBUG} GLIBC_TUNABLES=glibc.malloc.check=3)
  endif()
  add_test(NAME avx2.train_test COMMAND ${as_avx2} $<TARGET_FILE:train_test> --gtest_filter=-*Slow.*
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(NAME avx2.gradwire_train
           COMMAND ${as_avx2} $<TARGET_FILE:gradwire_cli> train --model "resnet18(width=4)"
                   --data generated --workers 2 --batch 16 --steps 4 --threads 1 --overwrite
                   --out ${PROJECT_BINARY_DIR}/avx2.gradwire_train.d)

  if(TARGET cli_test)  # tests of the whole program find it here
    target_compile_definitions(cli_test PRIVATE GRADWIRE_PROGRAM="$<TARGET_FILE:gradwire_cli>")
    add_dependencies(cli_test gradwire_cli)
  endif()
endif()

# `gradwire run` on hosts of its own, with an sshd and a disk each.
if(TARGET gradwire_cli)
  add_test(NAME hosts_test COMMAND tests/hosts_test.sh $<TARGET_FILE:gradwire_cli>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(hosts_test PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 RUN_SERIAL TRUE)
endif()

# The same with the trainer: every sample used once, the same hash at every checkpoint.
if(TARGET gradwire_cli)
  add_test(NAME storm_train
           COMMAND tools/storm-train --processes 4 --mean-seconds 2 --minutes 0.5 --steps 2500
                   --model "mlp(hidden=64)" --no-times --no-calm
                   --program $<TARGET_FILE:gradwire_cli>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(storm_train PROPERTIES RUN_SERIAL TRUE TIMEOUT 300)
endif()

# The page in a browser: pages of made-up runs, opened and used.
if(TARGET report)
  file(GLOB sources CONFIGURE_DEPENDS report/page_test/*.cpp)
  add_executable(example_pages ${sources})
  target_link_libraries(example_pages PRIVATE report)
  add_test(NAME report_page_test
           COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/report/page_test/page_test.mjs
                   $<TARGET_FILE:example_pages> ${PROJECT_BINARY_DIR}/example_pages.d)
  set_tests_properties(report_page_test PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# The same page while runs go on.
if(TARGET gradwire_cli)
  add_test(NAME watch_page_test
           COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/watch/page_test/watch_page_test.mjs
                   $<TARGET_FILE:gradwire_cli>)
  set_tests_properties(watch_page_test PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# The Python package: one test a class, so that they run side by side.
if(TARGET python_native)
  file(GLOB modules CONFIGURE_DEPENDS python/tests/test_*.py)
  foreach(module IN LISTS modules)
    file(STRINGS ${module} classes REGEX "^class [A-Za-z]+\\(.*Case\\):")
    cmake_path(GET module STEM module)
    list(TRANSFORM classes REPLACE "^class ([A-Za-z]+).*" "\\1")
    list(REMOVE_ITEM classes Case)  # what others derive from
    foreach(class IN LISTS classes)
      add_test(NAME python.${class} COMMAND ${Python_EXECUTABLE} -m unittest ${module}.${class}
               WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/python/tests)
      set(environment PYTHONPATH=${PROJECT_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1)
      if(TARGET gradwire_cli)
        list(APPEND environment GRADWIRE_PROGRAM=$<TARGET_FILE:gradwire_cli>)
      endif()
      set_tests_properties(python.${class} PROPERTIES TIMEOUT 900 ENVIRONMENT "${environment}")
    endforeach()
  endforeach()
  set_tests_properties(python.Ends PROPERTIES RUN_SERIAL TRUE)  # it looks at the clock
  add_test(NAME pip_test COMMAND tests/pip_test.sh WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(pip_test PROPERTIES LABELS slow TIMEOUT 1800)
endif()

add_test(NAME include_table COMMAND tools/check-includes)
add_test(NAME include_table_test COMMAND tests/include_table_test.sh)
add_test(NAME links COMMAND tools/check-links)
add_test(NAME links_test COMMAND tests/links_test.sh)
add_test(NAME names COMMAND tools/check-names)
add_test(NAME summary COMMAND tools/check-summary)
add_test(NAME names_test COMMAND tests/names_test.sh)
set(script_tests include_table include_table_test links links_test names names_test summary)

# A consumer is not built with sanitizers, so it cannot link a library that is.
if(TARGET gradwire_cli AND NOT GRADWIRE_SANITIZE)
  add_test(NAME consumer_test
           COMMAND tests/consumer_test.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER})
  add_test(NAME subproject_test COMMAND tests/subproject_test.sh ${CMAKE_CXX_COMPILER})
  list(APPEND script_tests consumer_test subproject_test)
endif()

set_tests_properties(${script_tests} PROPERTIES WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
