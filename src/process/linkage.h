/* SPDX-License-Identifier: MIT */
/* The differences between libqmpi.so and libqmpi.a. */
#ifndef QMPI_PROCESS_LINKAGE_H
#define QMPI_PROCESS_LINKAGE_H

#include <stdbool.h>

/* Whether this is libqmpi.a, which is part of the program, like the MPI library. */
extern const bool qmpi_is_static __attribute__((visibility("hidden")));

/* The directories of the installed tools and of the site's configuration files; for libqmpi.so,
 * relative to the directory of the library. */
extern const char qmpi_tools_folder[] __attribute__((visibility("hidden")));
extern const char qmpi_config_folder[] __attribute__((visibility("hidden")));

#endif
