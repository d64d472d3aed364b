/* SPDX-License-Identifier: MIT */
/* See start.h. The constructor does little, because many processes never call MPI. */
#define _GNU_SOURCE
#include "util/start.h"

#include "util/launcher.h"
#include "util/message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const qmpi_start_variables[QMPI_START_VARIABLES] = {
    "QMPI_TOOLS", "MPIR_CVAR_QMPI_TOOL_LIST", "MPIR_PARAM_QMPI_TOOL_LIST", "MPICH_QMPI_TOOL_LIST"};

static char *directory; /* NULL: unknown */
static const char *first_set;
static bool reported;

static const char *find_set(void)
{
    for (int i = 0; i < QMPI_START_VARIABLES; i++) {
        if (secure_getenv(qmpi_start_variables[i]))
            return qmpi_start_variables[i];
    }
    return NULL;
}

__attribute__((constructor)) static void note_start(void)
{
    first_set = find_set();
    reported = qmpi_launcher_reports();
    if (first_set || secure_getenv("QMPI_TOOL_PATH") || secure_getenv("QMPI_CONFIG"))
        directory = getcwd(NULL, 0);
}

char *qmpi_start_path(const char *path)
{
    char *here = *path == '/' || !directory ? NULL : getcwd(NULL, 0);
    const bool moved = *path != '/' && directory && (!here || strcmp(here, directory) != 0);
    free(here);
    if (moved && !strncmp(path, "./", 2) && path[2] != '/')
        path += 2;
    return moved ? qmpi_format("%s/%s", directory, path) : qmpi_copy(path);
}

bool qmpi_start_lost_stack(const char **name, bool *reports)
{
    *name = first_set;
    *reports = reported;
    return first_set && !find_set();
}
