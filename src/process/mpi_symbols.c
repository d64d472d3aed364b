/* SPDX-License-Identifier: MIT */
/* See mpi_symbols.h. */
#include "process/mpi_symbols.h"

#include "functions/functions.h"

#include <string.h>

static bool is_mpi(const struct qmpi_elf_image *image, const ElfW(Sym) * symbol, bool defined)
{
    const char *name = qmpi_elf_string(image, symbol->st_name);
    const char *plain = name[0] == 'P' && !defined ? name + 1 : name;
    return plain[0] == 'M' && plain[1] == 'P' && (!defined || qmpi_elf_defines(symbol)) &&
           qmpi_name_find(plain) >= 0;
}

/* Whether the string table holds the beginning of a name. Most libraries are done with this: it
 * takes less than a look at all their symbols. */
static bool may_name_mpi(const struct qmpi_elf_image *image)
{
    const char *at = image->strings, *const end = at + image->string_size;
    while ((at = memchr(at, 'M', (size_t)(end - at)))) {
        if (end - at > 2 && at[1] == 'P' && at[2] == 'I')
            return true;
        at++;
    }
    return false;
}

static bool find(const struct qmpi_elf_image *image, bool defined)
{
    if (!may_name_mpi(image))
        return false;
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        if (is_mpi(image, &image->symbols[i], defined))
            return true;
    }
    return false;
}

bool qmpi_mpi_symbols_defined(const struct qmpi_elf_image *image)
{
    return find(image, true);
}

bool qmpi_mpi_symbols_any(const struct qmpi_elf_image *image)
{
    return find(image, false);
}
