/* SPDX-License-Identifier: MIT */
/*
 * The service of the tool `regions`: which part of the program is running. A program names its
 * parts by MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name"). Tools that use the service include
 * this header; they are not linked with regions.so.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include <qmpi/service.h>

enum { REGIONS_MAX = 1000 };

typedef struct regions_table {
    /* Returns the number of the innermost open region (1 … REGIONS_MAX - 1), or 0 if none. */
    int (*current)(int offering_id);
    /* Returns the name of a region. The string exists for the whole run. */
    const char *(*name)(int offering_id, int region);
} regions_table;

/* Defines regions_offer and regions_find. */
QMPIX_SERVICE(regions, "regions", 1, 0, regions_table)

#endif
