/* SPDX-License-Identifier: MIT */
/*
 * Pages that are writable for a while: those of references that the loader has made read-only. What
 * somebody else has made writable before is left as it is.
 */
#ifndef QMPI_ELF_PAGES_H
#define QMPI_ELF_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: none is open. */
struct qmpi_elf_pages {
    struct qmpi_elf_range {
        char *start;
        size_t size;
    } * opened;
    int count;
    char *writable; /* the page that was found to be so last */
};

/* Makes the page of an aligned pointer at `place` writable. False, with errno: it cannot be. */
bool qmpi_elf_pages_open(struct qmpi_elf_pages *pages, const void *place);

/* Makes read-only again what was opened. */
void qmpi_elf_pages_close(struct qmpi_elf_pages *pages);

#endif
