/* SPDX-License-Identifier: MIT */
/* Where libqmpi.so is, seen from the command: see cli.h. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "generate/build.h"
#include "util/message.h"

#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *cli_library_path(void)
{
    static char *path;
    Dl_info info;
    if (!path && dladdr((void *)(uintptr_t)QMPIX_Function_name, &info))
        path = realpath(info.dli_fname, NULL);
    if (!path) {
        qmpi_printf("cannot find libqmpi\n"
                    "hint: reinstall qmpi");
        exit(2);
    }
    return path;
}

const char *cli_tools_folder(void)
{
    static char *folder;
    const char *library = cli_library_path();
    if (!folder)
        folder =
            qmpi_format("%.*s/" QMPI_TOOLS_FOLDER, (int)(strrchr(library, '/') - library), library);
    return folder;
}
