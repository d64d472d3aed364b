/* SPDX-License-Identifier: MIT */
/* qmpi vars lists what this MPI and a stack of tools offer through MPI_T. The command becomes an
 * MPI program of one process under the tool mpit, which prints the list. libqmpi loads the MPI
 * library. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "util/util.h"

#include <qmpi/qmpi.h>

#include <argp.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vars_request {
    bool json;
    const char *tools;
    char *globs; /* GLOB;GLOB…, as the value of an option, or NULL for all */
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "print JSON (schema qmpi-mpit/1) instead of tables", 0},
    {"tools", 't', "STACK", 0, "also show the variables that these tools publish (default: none)",
     0},
    {0},
};

static const char doc[] =
    "Show the control variables, performance variables and categories of MPI_T.\v"
    "GLOB selects names, as in a shell: qmpi vars 'MPIR_CVAR_BCAST*'\n"
    "With -t, the variables of tools are included: qmpi vars -t count 'qmpi.count.*Send'";

static void add_glob(struct vars_request *request, const char *glob)
{
    char *more = cli_escape(glob, ":,=\\");
    char *longer = request->globs ? qmpi_format("%s;%s", request->globs, more) : qmpi_copy(more);
    free(more);
    free(request->globs);
    request->globs = longer;
}

static error_t parse_vars_option(int key, char *argument, struct argp_state *state)
{
    struct vars_request *request = state->input;
    switch (key) {
    case 'j':
        request->json = true;
        return 0;
    case 't':
        request->tools = argument;
        return 0;
    case ARGP_KEY_ARG:
        add_glob(request, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Copies the list from a pipe to stdout. The tool does not write to stdout itself, because only the
 * command can check its stdout for write errors. */
static void *copy_list(void *pipe)
{
    char part[4096];
    FILE *const list = pipe;
    for (size_t length; (length = fread(part, 1, sizeof part, list)) > 0;)
        fwrite(part, 1, length, stdout);
    fclose(list);
    return NULL;
}

int cli_vars(int argc, char **argv)
{
    static const struct argp argp = {options, parse_vars_option, "[GLOB...]", doc, NULL, NULL,
                                     NULL};
    struct vars_request request = {.tools = ""};
    cli_parse(&argp, argc, argv, 0, NULL, &request);
    pthread_t copier;
    int ends[2];
    FILE *list = pipe2(ends, O_CLOEXEC) == 0 ? fdopen(ends[0], "r") : NULL;
    if (!list || pthread_create(&copier, NULL, copy_list, list) != 0) {
        qmpi_printf("cannot make a pipe for the list\n  hint: raise the limits on open files and "
                    "processes (ulimit -n, ulimit -u)");
        return 2;
    }
    char *tools = qmpi_format("mpit,at=init,output=/dev/fd/%d,format=%s%s%s:%s", ends[1],
                              request.json ? "json" : "table", request.globs ? ",show=" : "",
                              request.globs ? request.globs : "", request.tools);
    if (setenv("QMPI_TOOLS", tools, 1) != 0 || MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        qmpi_printf("cannot initialize MPI in a single process\n  hint: run an MPI program to see "
                    "the reason");
        return 2;
    }
    free(tools);
    free(request.globs);
    PMPI_Finalize(); /* Tools do not see this call and print no reports. */
    close(ends[1]);
    pthread_join(copier, NULL);
    if (fflush(stdout) || ferror(stdout)) {
        qmpi_printf(
            "cannot write the list to standard output\n  hint: check where standard output leads");
        _exit(2);
    }
    _exit(0);
}
