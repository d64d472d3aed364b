/* SPDX-License-Identifier: MIT */
/* See abi_name.h. */
#define _GNU_SOURCE
#include "loader/abi_name.h"

#include "generate/build.h"
#include "util/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *find_in(const char *folder, size_t length, const char *suffix)
{
    char *path = qmpi_format("%.*s%s/qmpi-abi.module", (int)length, folder, suffix);
    if (!access(path, R_OK))
        return path;
    qmpi_debug(QMPI_TOPIC_LOAD, "%s: %s", path, strerror(errno));
    free(path);
    return NULL;
}

char *qmpi_find_abi_name(const char *installed, const char *tool)
{
    const char *slash = strrchr(tool, '/');
    const size_t length = slash ? (size_t)(slash - tool) : 0;
    char *path = find_in(installed, strlen(installed), "");
    if (!path && slash)
        path = find_in(tool, length, "");
    if (!path && slash)
        path = find_in(tool, length, "/../" QMPI_TOOLS_FOLDER);
    return path;
}

void qmpi_load_abi_name(const char *installed, const char *tool)
{
    char *path = qmpi_find_abi_name(installed, tool);
    if (path && !dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        qmpi_debug(QMPI_TOPIC_LOAD, "%s", dlerror());
    free(path);
}
