/* SPDX-License-Identifier: MIT */
/* See replaces.h. */
#define _GNU_SOURCE
#include "replaces.h"

#include "message.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <stdlib.h>

char *qmpi_replaces(const struct qmpi_elf_image *image)
{
    enum { NAMED = 5 };
    void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    char *names = NULL;
    int count = 0;
    for (size_t i = 0; libc && i < image->symbol_count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        const char *name = qmpi_elf_string(image, symbol->st_name);
        /* Names with an underscore in front are the compiler's, or variants of others. */
        if (!qmpi_elf_defines(symbol) || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
            name[0] == '_' || !dlsym(libc, name))
            continue;
        if (++count <= NAMED) {
            char *longer = qmpi_format("%s%s%s", names ? names : "", names ? ", " : "", name);
            free(names);
            names = longer;
        }
    }
    if (libc)
        dlclose(libc);
    if (count > NAMED) {
        char *longer = qmpi_format("%s and %d more", names, count - NAMED);
        free(names);
        names = longer;
    }
    return names;
}
