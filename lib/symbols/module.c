/* SPDX-License-Identifier: MIT */
/* The library that libqmpi opens to describe addresses: see sites/sites.h. Files that were opened
 * remain so, because a program has many call sites in few files. */
#define _GNU_SOURCE
#include "sites/sites.h"

#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

struct opened {
    char *library;
    struct symbols_file *file; /* NULL: it cannot be read */
    struct opened *next;
};

static const struct opened *open_once(const char *library)
{
    static struct opened *all;
    for (const struct opened *opened = all; opened; opened = opened->next) {
        if (!strcmp(opened->library, library))
            return opened;
    }
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened || !(opened->library = strdup(library))) {
        free(opened);
        return NULL;
    }
    opened->file = symbols_open(library);
    opened->next = all;
    all = opened;
    return opened;
}

QMPI_API qmpi_symbols_finder qmpi_symbols_find;

int qmpi_symbols_find(const char *library, size_t offset, QMPIX_Frame **frames)
{
    const struct opened *opened = open_once(library);
    return opened && opened->file ? symbols_find(opened->file, offset, frames) : 0;
}
