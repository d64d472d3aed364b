/* SPDX-License-Identifier: MIT */
/* See pages.h. */
#define _GNU_SOURCE
#include "elf/pages.h"

#include "util/util.h"

#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Whether memory can be written now. The kernel adds nothing to it, atomically, and answers with an
 * error where it cannot: no value is changed under those who read or write it, and nobody is
 * waiting on the word that it would wake. /proc/self/maps would take a line for every mapping that
 * there is.
 */
static bool is_writable(const void *place)
{
    uint32_t nobody = 0;
    uint32_t *word = (uint32_t *)((uintptr_t)place & ~(uintptr_t)(sizeof *word - 1));
    return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, word,
                   FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0)) >= 0;
}

bool qmpi_elf_pages_open(struct qmpi_elf_pages *pages, const void *place)
{
    if (!pages->page_size)
        pages->page_size = (size_t)sysconf(_SC_PAGESIZE);
    const size_t size = pages->page_size;
    char *page = (char *)((uintptr_t)place & ~(size - 1));
    if (page == pages->writable)
        return true;
    struct qmpi_elf_range *last = pages->count ? &pages->opened[pages->count - 1] : NULL;
    if (!is_writable(place)) {
        if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
            return false;
        if (last && last->start + last->size == page) {
            last->size += size;
        } else {
            pages->opened = qmpi_grow(pages->opened, pages->count, sizeof *pages->opened);
            pages->opened[pages->count++] = (struct qmpi_elf_range){page, size};
        }
    }
    pages->writable = page;
    return true;
}

void qmpi_elf_pages_close(struct qmpi_elf_pages *pages)
{
    for (int i = 0; i < pages->count; i++)
        mprotect(pages->opened[i].start, pages->opened[i].size, PROT_READ);
    free(pages->opened);
    *pages = (struct qmpi_elf_pages){.opened = NULL};
}
