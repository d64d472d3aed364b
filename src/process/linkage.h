/* SPDX-License-Identifier: MIT */
/* What differs between libqmpi.so and libqmpi.a. */
#ifndef QMPI_PROCESS_LINKAGE_H
#define QMPI_PROCESS_LINKAGE_H

#include <stdbool.h>

/* Whether this is libqmpi.a: a part of the program, as the MPI library is. */
extern const bool qmpi_is_static __attribute__((visibility("hidden")));

/* The folder of the installed tools; of libqmpi.so its path from the folder of the library. */
extern const char qmpi_tools_folder[] __attribute__((visibility("hidden")));

#endif
