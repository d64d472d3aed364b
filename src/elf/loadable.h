/* SPDX-License-Identifier: MIT */
/*
 * What the dynamic loader does not do for a library that is whole: preload it by its path, or open
 * it in a process that runs. `qmpi run` acts on it, and messages say it.
 */
#ifndef QMPI_ELF_LOADABLE_H
#define QMPI_ELF_LOADABLE_H

#include "elf/file.h"

/*
 * Why a library cannot be opened once a process runs, or may not find room there, in words that
 * follow "it"; NULL: it can be.
 */
const char *qmpi_loadable_obstacle(const struct qmpi_elf_file *file);

/* Why a path cannot stand in LD_PRELOAD, in words that follow "takes no path with"; NULL: it can.
 */
const char *qmpi_loadable_path_obstacle(const char *path);

/*
 * What is wrong where dlopen did not load the library at `path`, for the reason that dlerror gave,
 * with a hint; to be freed. `hint` is for reasons that are not known here.
 */
char *qmpi_loadable_explain(const char *path, const char *reason, const char *hint);

#endif
