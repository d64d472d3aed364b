/* SPDX-License-Identifier: MIT */
/* See abi_name.h. */
#define _GNU_SOURCE
#include "loader/abi_name.h"

#include "generate/build.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool load_from(const char *folder, size_t length, const char *suffix)
{
    char *path = qmpi_format("%.*s%s/qmpi-abi.module", (int)length, folder, suffix);
    const bool loaded = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!loaded)
        qmpi_debug(QMPI_TOPIC_LOAD, "%s", dlerror());
    free(path);
    return loaded;
}

void qmpi_load_abi_name(const char *installed, const char *tool)
{
    const char *slash = strrchr(tool, '/');
    const size_t length = slash ? (size_t)(slash - tool) : 0;
    if (!load_from(installed, strlen(installed), "") && slash && !load_from(tool, length, ""))
        load_from(tool, length, "/../" QMPI_TOOLS_FOLDER);
}
