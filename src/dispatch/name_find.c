/* SPDX-License-Identifier: MIT */
/* Looks a function's number up by its name; see names.h. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *name, const void *number)
{
    return strcmp(name, qmpi_names[*(const short *)number].name);
}

int qmpi_name_find(const char *name)
{
    const short *number = bsearch(name, qmpi_names_sorted, (size_t)qmpi_name_count,
                                  sizeof *qmpi_names_sorted, compare);
    return number ? *number : -1;
}
