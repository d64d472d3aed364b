/* SPDX-License-Identifier: MIT */
/* See companion_file.h. */
#define _GNU_SOURCE
#include "toolkit/companion_file.h"

#include "util/util.h"

#include <dlfcn.h>
#include <qmpi/qmpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the path of the file that contains a function, or NULL if it is not known. The caller
 * frees the path. */
static char *copy_path_of(uintptr_t function)
{
    Dl_info info;
    return dladdr((void *)function, &info) ? realpath(info.dli_fname, NULL) : NULL;
}

static char *folder_of_tool(void)
{
    char *tool = copy_path_of((uintptr_t)tool_companion_file),
         *slash = tool ? strrchr(tool, '/') : NULL;
    if (slash)
        *slash = '\0';
    return tool;
}

/* Returns the path of a file in the folder of the tools of the loaded libqmpi. The tools of
 * libqmpi.so are in the folder qmpi, those of libqmpi-openmpi.so in qmpi-openmpi, and so on. These
 * folders are beside `folder`, that of the tool. Returns NULL if libqmpi is not found. The caller
 * frees the path. */
static char *beside_folder(const char *folder, const char *name)
{
    static const char prefix[] = "lib";
    char *library = copy_path_of((uintptr_t)QMPIX_Function_name), *path = NULL;
    const char *slash = library ? strrchr(library, '/') : NULL;
    const char *end = slash ? strstr(slash, ".so") : NULL;
    if (end && !strncmp(slash + 1, prefix, strlen(prefix))) {
        const char *tools = slash + 1 + strlen(prefix);
        path = qmpi_format("%s/../%.*s/%s", folder, (int)(end - tools), tools, name);
    }
    free(library);
    return path;
}

char *tool_companion_file(const char *name)
{
    char *folder = folder_of_tool(), *path = folder ? qmpi_format("%s/%s", folder, name) : NULL;
    if (path && access(path, F_OK)) {
        char *other = beside_folder(folder, name);
        const bool is_there = other && !access(other, F_OK);
        free(is_there ? path : other);
        path = is_there ? other : path;
    }
    free(folder);
    return path;
}
