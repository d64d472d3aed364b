/* SPDX-License-Identifier: MIT */
/* See abi_name.h. */
#define _GNU_SOURCE
#include "loader/abi_name.h"

#include "util/util.h"

#include <dlfcn.h>
#include <stdlib.h>

void qmpi_load_abi_name(const char *installed)
{
    char *path = qmpi_format("%s/qmpi-abi.module", installed);
    if (!dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        qmpi_debug(QMPI_TOPIC_LOAD, "%s", dlerror());
    free(path);
}
