/* SPDX-License-Identifier: MIT */
/* See installation.h. */
#define _GNU_SOURCE
#include "process/installation.h"

#include "config/config.h"
#include "process/object.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the absolute path of a file whose `path` is relative to the directory of the library. In
 * libqmpi.a, which is not beside other files, `path` is absolute. The caller frees the result. */
static char *path_beside_library(const char *path)
{
    struct qmpi_elf_loaded library;
    if (*path == '/')
        return qmpi_copy(path);
    const char *self = qmpi_object_read_self(&library) ? library.name : "";
    char *real = realpath(self, NULL);
    self = real ? real : self;
    const char *slash = strrchr(self, '/');
    char *folder =
        slash ? qmpi_format("%.*s/%s", (int)(slash - self), self, path) : qmpi_copy(path);
    free(real);
    return folder;
}

const char *qmpi_installation_folder(void)
{
    static char *folder;
    if (!folder)
        folder = path_beside_library(qmpi_tools_folder);
    return folder;
}

char *qmpi_installation_find(const char *name)
{
    const char *installed = qmpi_installation_folder(), *slash = strrchr(installed, '/');
    char *path = qmpi_format("%s/%s", installed, name);
    if (!slash || access(path, F_OK) == 0)
        return path;
    free(path);
    return qmpi_format("%.*s/qmpi-abi/%s", (int)(slash - installed), installed, name);
}

/* Defines the function that config/settings.h declares. */
char *qmpi_config_site_folder(void)
{
    return path_beside_library(qmpi_config_folder);
}
