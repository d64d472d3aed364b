/* SPDX-License-Identifier: MIT */
/* qmpi functions: the committed list of MPI functions, and which of them this MPI has. */
#include "cli/cli.h"

#include "functions/functions.h"
#include "generate/build.h"

#include <argp.h>
#include <stdio.h>

static const char doc[] =
    "List all known MPI functions: the number, the name, and whether " QMPI_MPI
    " provides it.\vThe numbers are stable: tools may rely on them.";

int cli_functions(int argc, char **argv)
{
    static const struct argp argp = {.doc = doc};
    cli_parse(&argp, argc, argv, 0, NULL, NULL);
    for (int number = 0; number < qmpi_name_count; number++)
        printf("%4d  %-40s %s\n", number, qmpi_names[number].name,
               qmpi_names[number].exists ? "yes" : "no");
    return 0;
}
