/* SPDX-License-Identifier: MIT */
/*
 * Restrictions of the dynamic loader for complete libraries: paths that cannot be preloaded, and
 * libraries that cannot be opened in a running process. For `qmpi run` and for messages.
 */
#ifndef QMPI_ELF_LOADABLE_H
#define QMPI_ELF_LOADABLE_H

#include "elf/file.h"

/*
 * Returns the reason why a library cannot be opened in a running process, or may not find memory
 * there, as words that follow "it"; NULL: it can be opened.
 */
const char *qmpi_loadable_obstacle(const struct qmpi_elf_file *file);

/* Returns the reason why a path cannot be used in LD_PRELOAD, as words that follow "does not accept
 * a path with"; NULL: it can.
 */
const char *qmpi_loadable_path_obstacle(const char *path);

/*
 * Explains why dlopen failed for the library at `path`. `reason` is the result of dlerror. Returns
 * a message with a hint, which the caller frees; `hint` is used if the reason is unknown here.
 */
char *qmpi_loadable_explain(const char *path, const char *reason, const char *hint);

#endif
