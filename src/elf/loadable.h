/* SPDX-License-Identifier: MIT */
/*
 * Tells how a complete library can be loaded: whether it can be opened in a running process,
 * whether its path can be preloaded, and whether it must be preloaded because it interposes
 * functions of the C library. The `qmpi` command and messages of libqmpi use these answers.
 */
#ifndef QMPI_ELF_LOADABLE_H
#define QMPI_ELF_LOADABLE_H

#include "elf/image.h"

/*
 * Returns the reason why opening a library in a running process fails or may fail, as words that
 * follow "it"; NULL: it can be opened.
 */
const char *qmpi_loadable_obstacle(const struct qmpi_elf_file *file);

/* Returns the reason why a path cannot be used in LD_PRELOAD, as words that follow "does not accept
 * a path with"; NULL: it can.
 */
const char *qmpi_loadable_path_obstacle(const char *path);

/*
 * Explains why dlopen failed for the library at `path`. `reason` is the result of dlerror,
 * and may be NULL. Returns a message, which the caller frees. The message ends with a hint: `hint`
 * if this function has none for the reason.
 */
char *qmpi_loadable_explain(const char *path, const char *reason, const char *hint);

/*
 * Returns the names of C library functions that an object defines, as text for a message, which the
 * caller frees; NULL: none. If there are many, some are only counted; names that start with an
 * underscore do not count. A tool must be preloaded to see the program's calls of these functions.
 */
char *qmpi_loadable_interposed(const struct qmpi_elf_image *image);

/* The same for functions that both objects define. */
char *qmpi_loadable_interposed_by_both(const struct qmpi_elf_image *one,
                                       const struct qmpi_elf_image *other);

#endif
