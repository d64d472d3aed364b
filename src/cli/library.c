/* SPDX-License-Identifier: MIT */
/* Where libqmpi.so is, seen from the command: see cli.h. */
#define _GNU_SOURCE
#include "cli.h"

#include "message.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

const char *cli_library_path(void)
{
    static char *path;
    Dl_info info;
    if (!path && dladdr((void *)(uintptr_t)QMPIX_Function_name, &info))
        path = realpath(info.dli_fname, NULL);
    if (!path) {
        qmpi_sayf("libqmpi cannot be found\nmend: install qmpi again");
        exit(2);
    }
    return path;
}
