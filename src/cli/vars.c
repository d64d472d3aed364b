/* SPDX-License-Identifier: MIT */
/*
 * qmpi vars: what this MPI, and a stack of tools, offer through MPI_T. The command becomes an MPI
 * program of one process under the tool mpit, which does the listing; libqmpi brings the MPI
 * library.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "util/util.h"

#include <qmpi/qmpi.h>

#include <argp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wish {
    bool json;
    const char *tools;
    char *globs; /* GLOB;GLOB… as an option's value; NULL: all */
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

/* In an option's value these characters have a meaning of their own. */
static char *escape(const char *text)
{
    char *escaped = qmpi_allocate(2 * strlen(text) + 1, 1);
    for (char *to = escaped; *text; *to++ = *text++) {
        if (strchr(":,=\\", *text))
            *to++ = '\\';
    }
    return escaped;
}

static void add_glob(struct wish *wish, const char *glob)
{
    char *more = escape(glob);
    char *longer = wish->globs ? qmpi_format("%s;%s", wish->globs, more) : qmpi_copy(more);
    free(more);
    free(wish->globs);
    wish->globs = longer;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct wish *wish = state->input;
    switch (key) {
    case 'j':
        wish->json = true;
        return 0;
    case 't':
        wish->tools = argument;
        return 0;
    case ARGP_KEY_ARG:
        add_glob(wish, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_vars(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "[GLOB...]", doc, NULL, NULL, NULL};
    struct wish wish = {.tools = ""};
    cli_parse(&argp, argc, argv, 0, NULL, &wish);
    char *tools =
        qmpi_format("mpit,at=init,output=-,format=%s%s%s:%s", wish.json ? "json" : "table",
                    wish.globs ? ",show=" : "", wish.globs ? wish.globs : "", wish.tools);
    if (setenv("QMPI_TOOLS", tools, 1) != 0 || MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        qmpi_printf("cannot initialize MPI in a single process\n  hint: run an MPI program to see "
                    "the reason");
        return 2;
    }
    free(tools);
    free(wish.globs);
    PMPI_Finalize(); /* none of the tools' own reports */
    if (fflush(stdout) || ferror(stdout)) {
        qmpi_printf(
            "cannot write the list to standard output\n  hint: check where standard output leads");
        _exit(2);
    }
    _exit(0);
}
