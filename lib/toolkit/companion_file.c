/* SPDX-License-Identifier: MIT */
/* See companion_file.h. */
#define _GNU_SOURCE
#include "toolkit/companion_file.h"

#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

char *tool_companion_file(const char *name)
{
    Dl_info info;
    char *tool = dladdr((void *)(uintptr_t)tool_companion_file, &info)
                     ? realpath(info.dli_fname, NULL)
                     : NULL;
    char *slash = tool ? strrchr(tool, '/') : NULL;
    char *path = slash ? qmpi_format("%.*s/%s", (int)(slash - tool), tool, name) : NULL;
    free(tool);
    return path;
}
