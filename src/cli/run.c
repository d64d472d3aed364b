/* SPDX-License-Identifier: MIT */
/* qmpi run: sets the environment and becomes the program. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/manifests/manifests.h"

#include "util/util.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_ON_ERROR = CLI_KEY_FREE, KEY_DEBUG, KEY_MPI };

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0,
     "stack of tools, from the application to the MPI library: NAME[,KEY=VALUE...][:NAME...] ; may "
     "be "
     "repeated (sets QMPI_TOOLS)",
     0},
    {"config", 'c', "FILE", 0,
     "configuration file with layers and settings; may be repeated (sets QMPI_CONFIG)", 0},
    {"tool-path", CLI_KEY_TOOL_PATH, "DIRS", 0,
     "directories to search for tools first, separated by colons; may be repeated (sets "
     "QMPI_TOOL_PATH)",
     0},
    {"on-error", KEY_ON_ERROR, "stop|skip", 0,
     "what to do if a tool cannot be used (sets QMPI_ON_ERROR)", 0},
    {"debug", KEY_DEBUG, "TOPICS", 0,
     "what to print debugging messages about: parse, find, load, base, chain or all (sets "
     "QMPI_DEBUG)",
     0},
    {"mpi", KEY_MPI, "mpich|openmpi|abi", 0,
     "the MPI of the program, if its libraries do not show it (default: the MPI of the launcher, "
     "else of this command)",
     0},
    {0},
};

struct wish {
    char **program;
    const char *mpi; /* NULL: what the program's libraries or the launcher show */
};

static const char doc[] =
    "Run a program under a stack of tools. With a launcher, place the command in front of the "
    "program:\v  mpiexec -n 4 qmpi run -t count:empty:count -- ./app arguments\n"
    "\n"
    "An option that is not given leaves its variable unchanged.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct wish *wish = state->input;
    switch (key) {
    case KEY_ON_ERROR:
        if (strcmp(argument, "stop") != 0 && strcmp(argument, "skip") != 0)
            cli_misuse(state, "--on-error is stop or skip, not '%s'", argument);
        cli_set_variable("QMPI_ON_ERROR", argument);
        return 0;
    case KEY_DEBUG:
        cli_set_variable("QMPI_DEBUG", argument);
        return 0;
    case KEY_MPI:
        wish->mpi = cli_check_mpi(state, argument);
        return 0;
    case ARGP_KEY_ARG:
        wish->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        cli_misuse(state, "missing program: qmpi run [OPTION...] -- PROGRAM [ARGUMENT...]");
        return 0;
    default:
        return cli_parse_stack(key, argument);
    }
}

static void note_no_tools(const char *program)
{
    char *path = cli_program_find(program);
    if (path && access(path, X_OK) == 0 && !cli_stack_is_given() && !getenv("LD_PRELOAD") &&
        qmpi_is_reporting_process())
        qmpi_print("no tools are given: the program runs without a stack of tools\n"
                   "  hint: give a stack with -t; `qmpi list` lists installed tools");
    free(path);
}

static int refuse_program(const char *name, int reason)
{
    char *here = qmpi_format("./%s", name);
    char *write_here = qmpi_format("write %s", here);
    const char *hint = "give a program that this machine can run";
    if (reason == EACCES)
        hint = "give a program that you are allowed to execute";
    else if (reason == ENOENT && !strchr(name, '/') && access(here, X_OK) == 0)
        hint = write_here;
    else if (reason == ENOENT && access(name, F_OK) != 0)
        hint = "correct the name, or give its path; a stack of tools is given with -t";
    qmpi_printf("cannot run '%s': %s\n  hint: %s", name, strerror(reason), hint);
    free(write_here);
    free(here);
    return reason == ENOENT ? 127 : 126;
}

int cli_run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "-- PROGRAM [ARGUMENT...]", doc, NULL,
                                     NULL,    NULL};
    struct wish wish = {.program = NULL};
    cli_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &wish);
    char **const program = wish.program;
    note_no_tools(program[0]);
    struct cli_build build = cli_choose_build(wish.mpi, program[0]);
    struct manifest_stack stack = manifest_stack_read(&build);
    manifest_check_conditions(&stack);
    cli_set_preload(&stack, program[0]);
    manifest_warn(&stack);
    manifest_stack_free(&stack);
    free(build.library);
    free(build.tools_folder);
    cli_program_warn(program[0]);
    execvp(program[0], program);
    return refuse_program(program[0], errno);
}
