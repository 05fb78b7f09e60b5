# The JavaScript libraries that HTML reports carry inside: fetched from the npm registry, pinned by SHA-512 (npm's
# `integrity` in hex), kept in the build folder, installed beside ascend_fuse.report with their licences. None of it is
# in the repository. Without a network the build goes on, and reports say that they have no graph and no charts.
#   ASCEND_FUSE_NPM   the registry, or file:///FOLDER with the archives under the same paths

set(ASCEND_FUSE_NPM "https://registry.npmjs.org" CACHE STRING "Where JavaScript libraries come from")
set(web_folder "${CMAKE_BINARY_DIR}/web")

# fetch_web_library(NAME PATH SHA512 FILE LICENSE): FILE and LICENSE of the archive become NAME.js and NAME.LICENSE.txt
function(fetch_web_library name path sha512 file license)
  set(archive "${web_folder}/${name}.tgz")
  set(found "")
  if(EXISTS "${archive}")
    file(SHA512 "${archive}" found)
  endif()
  if(NOT found STREQUAL sha512)
    file(DOWNLOAD "${ASCEND_FUSE_NPM}/${path}" "${archive}" STATUS status TIMEOUT 120 TLS_VERIFY ON)
    list(GET status 0 code)
    list(GET status 1 reason)
    if(code)
      file(REMOVE "${archive}")
      message(WARNING "${ASCEND_FUSE_NPM}/${path}: ${reason}; HTML reports of this build have no graph and no charts. "
                      "Connect and build again, or point -DASCEND_FUSE_NPM at a mirror.")
      return()
    endif()
    file(SHA512 "${archive}" found)
    if(NOT found STREQUAL sha512)
      file(REMOVE "${archive}")
      message(FATAL_ERROR "${ASCEND_FUSE_NPM}/${path}: its SHA-512 is ${found}, not ${sha512}; do not trust this source")
    endif()
  endif()
  file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${web_folder}/${name}" PATTERNS "package/${file}" "package/${license}")
  install(FILES "${web_folder}/${name}/package/${file}" DESTINATION ascend_fuse/report/vendor RENAME "${name}.js")
  install(FILES "${web_folder}/${name}/package/${license}" DESTINATION ascend_fuse/report/vendor
          RENAME "${name}.LICENSE.txt")
endfunction()

fetch_web_library(dagre @dagrejs/dagre/-/dagre-3.1.3.tgz
  5f86944f0391799bed85a6563951ea949e76fd976164510ce3e2e1fee4785e8a1448b13aa7bd5b732ecc3c6cd89cd51c361fa78fe8bfa8942908c21d4274a6ae
  dist/dagre.min.js LICENSE)
fetch_web_library(d3 d3/-/d3-7.9.2.tgz
  64a6ff98e34f54acda3b952571673037c6d2e1ecef41a62ef9bb28bbe5e034005d182f34d24c07eb9d400d36db4f130f1d6d77525bdb41a7dd989403935c3b32
  dist/d3.min.js LICENSE)
