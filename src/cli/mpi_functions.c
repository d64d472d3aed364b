/* SPDX-License-Identifier: MIT */
/* In which functions an MPI library differs from the one that libqmpi was built with. */
#include "cli/cli.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Fortran's MPI_INIT is no function of C. */
static bool is_mpi(const char *name)
{
    return (!strncmp(name, "MPI_", 4) || !strncmp(name, "MPIX_", 5)) &&
           strpbrk(name, "abcdefghijklmnopqrstuvwxyz");
}

const char *cli_compare_functions(const char *path, cli_function *each, void *data)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (reason)
        return reason;
    bool *provided = qmpi_allocate((size_t)qmpi_name_count, sizeof *provided);
    for (size_t i = 0; i < file.image.symbol_count; i++) {
        const char *name = qmpi_elf_string(&file.image, file.image.symbols[i].st_name);
        const bool pmpi = *name == 'P';
        if (!qmpi_elf_defines(&file.image.symbols[i]) || !is_mpi(name + pmpi))
            continue;
        const int number = qmpi_name_find(name + pmpi);
        if (number >= 0)
            provided[number] = true; /* of a few functions there is no PMPI_X in some libraries */
        if (pmpi && (number < 0 || !qmpi_names[number].exists))
            each(data, number, name + 1, true);
    }
    for (int number = 0; number < qmpi_name_count; number++) {
        if (qmpi_names[number].exists && !provided[number])
            each(data, number, qmpi_names[number].name, false);
    }
    free(provided);
    qmpi_elf_file_close(&file);
    return NULL;
}
