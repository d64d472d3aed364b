/* SPDX-License-Identifier: MIT */
/*
 * qmpi doctor: finds out why a run would not do what its user expects. Nothing of it is an MPI run:
 * tools are tried in processes of their own, the program is only looked at.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "elf/elf.h"
#include "generate/build.h"
#include "util/util.h"

#include <argp.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_TIMEOUT = CLI_KEY_FREE, STATUS_WRONG = 1 };

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0, "examine this stack (default: QMPI_TOOLS)", 0},
    {"config", 'c', "FILE", 0,
     "configuration file with layers and settings; may be repeated (default: QMPI_CONFIG)", 0},
    {"tool-path", CLI_KEY_TOOL_PATH, "DIRS", 0,
     "directories to search for tools first, separated by colons; may be repeated (default: "
     "QMPI_TOOL_PATH)",
     0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "time limit for loading tools (default: 10; 0: none)",
     0},
    {0},
};

static const char doc[] =
    "Diagnose the MPI library, the environment, the tools of the stack, and how the program calls "
    "MPI.\vEach problem is printed with a hint. The exit status is 0 if no problems were found, 1 "
    "if problems were found, and 2 after a usage error.\n"
    "\n"
    "  qmpi doctor -t profile:libmpiP.so -- ./app";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    const char **program = state->input;
    switch (key) {
    case KEY_TIMEOUT:
        doctor_set_patience(argument, state);
        return 0;
    case ARGP_KEY_ARG: /* the program; its arguments do not matter */
        *program = argument;
        state->next = state->argc;
        return 0;
    default:
        return cli_parse_stack(key, argument);
    }
}

/* ---- qmpi and its MPI ------------------------------------------------------------------------ */

static void look_at_library(void)
{
    const char *library = cli_library_path();
    const char *tools = cli_tools_folder();
    if (qmpi_loadable_path_obstacle(library))
        doctor_wrong("%s cannot be preloaded: the dynamic loader does not accept a path with %s\n"
                     "hint: install qmpi under another path",
                     library, qmpi_loadable_path_obstacle(library));
    else
        doctor_ok("libqmpi %s for %s: %s", QMPI_VERSION, QMPI_MPI, library);
    if (access(tools, R_OK | X_OK) == 0)
        doctor_ok("installed tools: %s", tools);
    else
        doctor_wrong("the directory of the installed tools is missing: %s\n"
                     "hint: reinstall qmpi",
                     tools);
}

static void look_at_mpi(void)
{
    void *handle = dlopen(QMPI_MPI_SONAME, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        doctor_note("the dynamic loader does not find %s, for which this libqmpi was built\n"
                    "%s\n"
                    "hint: install it or set LD_LIBRARY_PATH, unless the program brings its own "
                    "MPI library",
                    QMPI_MPI_SONAME, dlerror());
        return;
    }
    struct link_map *map = NULL;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    void *function = dlsym(handle, "PMPI_Get_library_version");
    if (function)
        ((int (*)(char *, int *))(uintptr_t)function)(version, &length);
    cli_tidy(version);
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    doctor_ok("%s: %s", *version ? version : "MPI library", map ? map->l_name : QMPI_MPI_SONAME);
}

/* Whose launcher `mpiexec` is. */
static void look_at_launcher(void)
{
    const char *wanted = cli_mpi_of_library();
    char *found = cli_program_find("mpiexec");
    char *path = found ? realpath(found, NULL) : NULL;
    const char *mpi = path ? cli_mpi_of_launcher(path) : NULL;
    const char *name = mpi && !strcmp(mpi, "mpich") ? "MPICH" : "Open MPI";
    if (!path)
        doctor_note("mpiexec not found in PATH\nhint: add the directory of the MPI launcher to "
                    "PATH, or start the launcher by its full path");
    else if (mpi && (!wanted || !strcmp(mpi, wanted)))
        doctor_ok("mpiexec belongs to %s: %s", name, path);
    else if (mpi)
        doctor_note("mpiexec belongs to %s (%s), but this qmpi is for %s: each process would start "
                    "as a singleton (rank 0 of 1)\n"
                    "hint: launch with mpiexec.%s",
                    name, path, wanted, wanted);
    free(path);
    free(found);
}

static void look_at_qmpi(void)
{
    look_at_library();
    look_at_mpi();
    look_at_launcher();
}

int cli_doctor(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "[-- PROGRAM [ARGUMENT...]]", doc, NULL,
                                     NULL,    NULL};
    const char *program = NULL;
    cli_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &program);
    doctor_heading("qmpi and MPI");
    look_at_qmpi();
    doctor_heading("environment");
    doctor_look_at_environment();
    doctor_heading("stack");
    doctor_look_at_stack();
    if (program) {
        doctor_heading("program");
        doctor_look_at_program(program);
    }
    const int wrong = doctor_count_wrong();
    if (wrong)
        printf("%d problem%s found\n", wrong, wrong == 1 ? "" : "s");
    else
        printf("no problems found\n");
    return wrong ? STATUS_WRONG : 0;
}
