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
    bool has_tools; /* whether -t is given */
    char *globs;    /* GLOB;GLOB…, as the value of an option, or NULL for all */
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "print JSON (schema qmpi-mpit/1) instead of tables", 0},
    {"tools", 't', "STACK", 0,
     "also show the variables that these tools publish; may be repeated (default: none)", 0},
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
        cli_stack_add(argument);
        request->has_tools = true;
        return 0;
    case ARGP_KEY_ARG:
        add_glob(request, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct list {
    FILE *pipe;
    bool is_empty;
};

/* Copies the list from a pipe to stdout. The tool does not write to stdout itself, because only the
 * command can check its stdout for write errors. */
static void *copy_list(void *data)
{
    char part[4096];
    struct list *const list = data;
    for (size_t length; (length = fread(part, 1, sizeof part, list->pipe)) > 0;) {
        list->is_empty = false;
        fwrite(part, 1, length, stdout);
    }
    fclose(list->pipe);
    return NULL;
}

/* Sets the variables of the stack. The layer that lists the variables is not in QMPI_TOOLS, so that
 * QMPI_DISABLE cannot leave it out, and messages number the entries of -t as in a run. */
static void set_stack(const struct vars_request *request, int output)
{
    char *layer = qmpi_format("mpit,at=init,output=/dev/fd/%d,format=%s%s%s", output,
                              request->json ? "json" : "table", request->globs ? ",show=" : "",
                              request->globs ? request->globs : "");
    cli_set_variable("QMPI_VARS", layer);
    if (!request->has_tools)
        cli_set_variable("QMPI_TOOLS", "");
    free(layer);
}

int cli_vars(int argc, char **argv)
{
    static const struct argp argp = {options, parse_vars_option, "[GLOB...]", doc, NULL, NULL,
                                     NULL};
    struct vars_request request = {.json = false};
    cli_parse(&argp, argc, argv, 0, NULL, &request);
    pthread_t copier;
    int ends[2];
    struct list list = {pipe2(ends, O_CLOEXEC) == 0 ? fdopen(ends[0], "r") : NULL, true};
    if (!list.pipe || pthread_create(&copier, NULL, copy_list, &list) != 0) {
        qmpi_printf("cannot make a pipe for the list\n  hint: raise the limits on open files and "
                    "processes (ulimit -n, ulimit -u)");
        return 2;
    }
    set_stack(&request, ends[1]);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        qmpi_printf("cannot initialize MPI in a single process\n  hint: run an MPI program to see "
                    "the reason");
        return 2;
    }
    free(request.globs);
    PMPI_Finalize(); /* Tools do not see this call and print no reports. */
    close(ends[1]);
    pthread_join(copier, NULL);
    if (list.is_empty) {
        qmpi_printf("qmpi vars: the tool mpit, which lists the variables, has written no list\n"
                    "hint: `qmpi check -t mpit` shows whether the tool can be used");
        _exit(2);
    }
    _exit(cli_finish_output() ? 0 : 2);
}
