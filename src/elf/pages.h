/* SPDX-License-Identifier: MIT */
/*
 * Makes pages with relocations temporarily writable that the loader has made read-only. Pages that
 * are writable already, for whatever reason, stay writable.
 */
#ifndef QMPI_ELF_PAGES_H
#define QMPI_ELF_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: no page is open. */
struct qmpi_elf_pages {
    struct qmpi_elf_range {
        char *start;
        size_t size;
    } * opened;
    int count;
    char *writable; /* the last page that was found writable */
    size_t page_size;
};

/* Makes the page of an aligned pointer at `place` writable. Returns false and sets errno on
 * failure. */
bool qmpi_elf_pages_open(struct qmpi_elf_pages *pages, const void *place);

/* Makes the opened pages read-only again. */
void qmpi_elf_pages_close(struct qmpi_elf_pages *pages);

#endif
