/* SPDX-License-Identifier: MIT */
/* See installation.h. */
#define _GNU_SOURCE
#include "process/installation.h"

#include "process/classify.h"
#include "process/linkage.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

const char *qmpi_installed_folder(void)
{
    static char *folder;
    struct qmpi_elf_loaded library;
    if (qmpi_tools_folder[0] == '/') /* libqmpi.a: there is no library next to which it could be */
        return qmpi_tools_folder;
    if (!folder) {
        const char *self = qmpi_self_read(&library) ? library.name : "";
        char *real = realpath(self, NULL);
        self = real ? real : self;
        const char *slash = strrchr(self, '/');
        folder = slash ? qmpi_format("%.*s/%s", (int)(slash - self), self, qmpi_tools_folder)
                       : qmpi_copy(qmpi_tools_folder);
        free(real);
    }
    return folder;
}
