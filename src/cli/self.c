/* SPDX-License-Identifier: MIT */
/* Where libqmpi.so is, seen from the command: see cli.h. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/site_folder.h"
#include "config/config.h"
#include "generate/build.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* By its soname: LD_PRELOAD may contain the libqmpi of another MPI, which defines the same names.
 */
const char *cli_library_path(void)
{
    static char *path;
    const struct link_map *map = NULL;
    void *library = path ? NULL : dlopen(QMPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        path = realpath(map->l_name, NULL);
    if (library)
        dlclose(library);
    if (!path) {
        qmpi_printf("cannot find libqmpi\n"
                    "hint: reinstall qmpi");
        exit(2);
    }
    return path;
}

/* For config/files.h. The library's path contains no symbolic links, so `..` need not stay in it,
 * also where the directory does not exist. */
char *qmpi_site_folder(void)
{
    static const char up[] = "../";
    const char *library = cli_library_path(), *rest = QMPI_SITE_FOLDER;
    size_t length = (size_t)(strrchr(library, '/') - library);
    for (; !strncmp(rest, up, sizeof up - 1); rest += sizeof up - 1) {
        while (length && library[--length] != '/')
            ;
    }
    return qmpi_format("%.*s/%s", (int)length, library, rest);
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
