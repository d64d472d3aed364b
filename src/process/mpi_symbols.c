/* SPDX-License-Identifier: MIT */
/* See mpi_symbols.h. */
#include "process/mpi_symbols.h"

#include "functions/functions.h"

static bool is_mpi(const struct qmpi_elf_image *image, const ElfW(Sym) * symbol, bool defined)
{
    const char *name = qmpi_elf_string(image, symbol->st_name);
    const char *plain = name[0] == 'P' && !defined ? name + 1 : name;
    return plain[0] == 'M' && plain[1] == 'P' && (!defined || qmpi_elf_defines(symbol)) &&
           qmpi_name_find(plain) >= 0;
}

static bool find(const struct qmpi_elf_image *image, bool defined)
{
    size_t first;
    const uint32_t *hashes = qmpi_elf_hashes(image, &first);
    const size_t count = qmpi_elf_symbol_count(image);
    const size_t unhashed = hashes && first < count ? first : count;
    for (size_t i = 0; i < unhashed; i++) {
        if (is_mpi(image, &image->symbols[i], defined))
            return true;
    }
    for (size_t i = unhashed; i < count; i++) {
        if (qmpi_name_may_be(hashes[i - first]) && is_mpi(image, &image->symbols[i], defined))
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
