/* SPDX-License-Identifier: MIT */
/* qmpi run: sets the environment and becomes the program. */
#define _GNU_SOURCE
#include "cli.h"

#include "message.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_ON_ERROR = 256, KEY_DEBUG, KEY_TOOL_PATH };

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0,
     "the tools, from the application down: name[,key=value...][:name...] (sets QMPI_TOOLS)", 0},
    {"tool-path", KEY_TOOL_PATH, "FOLDERS", 0,
     "folders in which tools are sought first (sets QMPI_TOOL_PATH)", 0},
    {"on-error", KEY_ON_ERROR, "stop|skip", 0,
     "what follows when a tool cannot be used (sets QMPI_ON_ERROR)", 0},
    {"debug", KEY_DEBUG, "TOPICS", 0,
     "trace parse, find, load, base, chain or all (sets QMPI_DEBUG)", 0},
    {0},
};

static const char doc[] =
    "Run a program under a stack of tools. Under a launcher it goes in front of the program:\v"
    "  mpiexec -n 4 qmpi run -t count:empty:count -- ./app arguments\n"
    "\n"
    "An option that is not given leaves its variable as it is.";

static void set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        qmpi_sayf("cannot set %s: %s", name, strerror(errno));
        exit(2);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    char ***program = state->input;
    switch (key) {
    case 't':
        set_variable("QMPI_TOOLS", argument);
        return 0;
    case KEY_TOOL_PATH:
        set_variable("QMPI_TOOL_PATH", argument);
        return 0;
    case KEY_ON_ERROR:
        if (strcmp(argument, "stop") != 0 && strcmp(argument, "skip") != 0)
            argp_error(state, "--on-error is stop or skip, not '%s'", argument);
        set_variable("QMPI_ON_ERROR", argument);
        return 0;
    case KEY_DEBUG:
        set_variable("QMPI_DEBUG", argument);
        return 0;
    case ARGP_KEY_ARG:
        *program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no program: qmpi run [OPTION...] -- PROGRAM [ARGUMENT...]");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Ours first: then its MPI functions are found before any other library's. */
static void preload(const char *library)
{
    if (strpbrk(library, " :")) {
        qmpi_sayf("%s cannot be preloaded: the dynamic loader takes no path with a space or colon\n"
                  "mend: install qmpi under another path",
                  library);
        exit(2);
    }
    const char *others = getenv("LD_PRELOAD");
    char *value = others && *others ? qmpi_format("%s:%s", library, others) : qmpi_copy(library);
    set_variable("LD_PRELOAD", value);
    free(value);
}

int cli_run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "-- PROGRAM [ARGUMENT...]", doc, NULL,
                                     NULL,    NULL};
    char **program = NULL;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &program);
    preload(cli_library_path());
    execvp(program[0], program);
    const int reason = errno;
    qmpi_sayf("cannot run '%s': %s", program[0], strerror(reason));
    return reason == ENOENT ? 127 : 126;
}
