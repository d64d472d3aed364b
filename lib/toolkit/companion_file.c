/* SPDX-License-Identifier: MIT */
/* See companion_file.h. */
#define _GNU_SOURCE
#include "toolkit/companion_file.h"

#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path_in(const char *tool, const char *folder, const char *name)
{
    const char *slash = strrchr(tool, '/');
    return slash ? qmpi_format("%.*s/%s%s", (int)(slash - tool), tool, folder, name) : NULL;
}

char *tool_companion_file(const char *name)
{
    Dl_info info;
    char *tool = dladdr((void *)(uintptr_t)tool_companion_file, &info)
                     ? realpath(info.dli_fname, NULL)
                     : NULL;
    char *path = tool ? path_in(tool, "", name) : NULL;
    if (path && access(path, F_OK) != 0) {
        char *other = path_in(tool, "../" TOOLKIT_TOOLS_FOLDER "/", name);
        if (other && access(other, F_OK) == 0) {
            free(path);
            path = other;
        } else {
            free(other); /* it would be beside the tool */
        }
    }
    free(tool);
    return path;
}
