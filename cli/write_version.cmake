# Writes OUTPUT from TEMPLATE with the state of the checkout in SOURCE_DIR; leaves it alone where
# nothing has changed. Run at every build: HEAD moves without any source file changing.
set(DETCHECK_GIT_REVISION unknown)
set(DETCHECK_GIT_DIRTY unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse HEAD
                  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(DETCHECK_GIT_REVISION ${revision})
    execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} --no-optional-locks status --porcelain
                            --untracked-files=no
                    OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed)
      if(changes STREQUAL "")
        set(DETCHECK_GIT_DIRTY false)
      else()
        set(DETCHECK_GIT_DIRTY true)
      endif()
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
