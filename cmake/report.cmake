# The page of the report room: its parts, and uPlot from npm, become one C++ source in the build
# tree. npm runs when report/package*.json change, and needs the network the first time only.

find_program(NODE NAMES node nodejs)
find_program(NPM npm)
if(NOT NODE OR NOT NPM)
  message(FATAL_ERROR "The page of a run is put together by Node and npm, and they are missing: "
    "apt-get install nodejs npm, or call tools/bootstrap. Without them, -DGRADWIRE_CLI=OFF builds "
    "the library alone.")
endif()

set(page_dir ${PROJECT_BINARY_DIR}/page)
file(MAKE_DIRECTORY ${page_dir})
set(package ${PROJECT_SOURCE_DIR}/report/package.json
            ${PROJECT_SOURCE_DIR}/report/package-lock.json)
add_custom_command(
  OUTPUT ${page_dir}/npm.stamp  # what npm unpacks is dated 1985
  COMMAND ${CMAKE_COMMAND} -E copy ${package} ${page_dir}
  COMMAND ${NPM} ci --omit=dev --prefer-offline --ignore-scripts --no-audit --no-fund
          --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${page_dir}/npm.stamp
  DEPENDS ${package}
  WORKING_DIRECTORY ${page_dir}
  COMMENT "report: npm fetches what the page needs"
  VERBATIM)

file(GLOB page_parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/report/page/*)
add_custom_command(
  OUTPUT ${page_dir}/page_template.cpp
  COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/report/inline.mjs ${page_dir}/node_modules
          ${page_dir}/page_template.cpp
  DEPENDS ${page_dir}/npm.stamp ${PROJECT_SOURCE_DIR}/report/inline.mjs ${page_parts}
  COMMENT "report: one page from its parts"
  VERBATIM)
target_sources(report PRIVATE ${page_dir}/page_template.cpp)
