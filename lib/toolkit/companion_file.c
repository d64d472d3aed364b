/* SPDX-License-Identifier: MIT */
/* See companion_file.h. */
#define _GNU_SOURCE
#include "toolkit/companion_file.h"

#include "util/util.h"

#include <dlfcn.h>
#include <qmpi/qmpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of the file that contains a function; NULL: not known. The caller frees it. */
static char *file_of(uintptr_t function)
{
    Dl_info info;
    return dladdr((void *)function, &info) ? realpath(info.dli_fname, NULL) : NULL;
}

static char *beside_tool(const char *name)
{
    char *tool = file_of((uintptr_t)tool_companion_file);
    const char *slash = tool ? strrchr(tool, '/') : NULL;
    char *path = slash ? qmpi_format("%.*s/%s", (int)(slash - tool), tool, name) : NULL;
    free(tool);
    return path;
}

/* The folder of libqmpi.so is qmpi, beside it; that of libqmpi-openmpi.so is qmpi-openmpi. */
static char *in_folder_of_library(const char *name)
{
    static const char prefix[] = "lib";
    char *library = file_of((uintptr_t)QMPIX_Function_name), *path = NULL;
    const char *slash = library ? strrchr(library, '/') : NULL;
    const char *end = slash ? strstr(slash, ".so") : NULL;
    if (end && !strncmp(slash + 1, prefix, strlen(prefix))) {
        const char *folder = slash + 1 + strlen(prefix);
        path = qmpi_format("%.*s/%.*s/%s", (int)(slash - library), library, (int)(end - folder),
                           folder, name);
    }
    free(library);
    return path;
}

char *tool_companion_file(const char *name)
{
    char *path = beside_tool(name);
    if (path && !access(path, F_OK))
        return path;
    char *other = in_folder_of_library(name);
    if (!other || access(other, F_OK)) {
        free(other);
        return path;
    }
    free(path);
    return other;
}
