/* SPDX-License-Identifier: MIT */
/* qmpi run: sets the environment and becomes the program. */
#define _GNU_SOURCE
#include "cli.h"

#include "config_file.h"
#include "elf_file.h"
#include "find.h"
#include "kind.h"
#include "message.h"
#include "replaces.h"
#include "tool_list.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_ON_ERROR = 256, KEY_DEBUG, KEY_TOOL_PATH, KEY_MPI };

static const struct argp_option options[] = {
    {"tools", 't', "STACK", 0,
     "the tools, from the application down: name[,key=value...][:name...] (sets QMPI_TOOLS)", 0},
    {"config", 'c', "FILE", 0,
     "a file with a stack and settings, for what is not set otherwise (sets QMPI_CONFIG)", 0},
    {"tool-path", KEY_TOOL_PATH, "FOLDERS", 0,
     "folders in which tools are sought first (sets QMPI_TOOL_PATH)", 0},
    {"on-error", KEY_ON_ERROR, "stop|skip", 0,
     "what follows when a tool cannot be used (sets QMPI_ON_ERROR)", 0},
    {"debug", KEY_DEBUG, "TOPICS", 0,
     "trace parse, find, load, base, chain or all (sets QMPI_DEBUG)", 0},
    {"mpi", KEY_MPI, "mpich|openmpi", 0,
     "the program's MPI, where its libraries do not show it (default: this command's own)", 0},
    {0},
};

struct wish {
    char **program;
    const char *mpi; /* NULL: what the program's libraries show */
};

static const char doc[] =
    "Run a program under a stack of tools. Under a launcher it goes in front of the program:\v"
    "  mpiexec -n 4 qmpi run -t count:empty:count -- ./app arguments\n"
    "\n"
    "An option that is not given leaves its variable as it is.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct wish *wish = state->input;
    switch (key) {
    case 't':
        cli_use_stack(argument);
        return 0;
    case 'c':
        cli_use_config(argument);
        return 0;
    case KEY_TOOL_PATH:
        cli_set_variable("QMPI_TOOL_PATH", argument);
        return 0;
    case KEY_ON_ERROR:
        if (strcmp(argument, "stop") != 0 && strcmp(argument, "skip") != 0)
            cli_misuse(state, "--on-error is stop or skip, not '%s'", argument);
        cli_set_variable("QMPI_ON_ERROR", argument);
        return 0;
    case KEY_DEBUG:
        cli_set_variable("QMPI_DEBUG", argument);
        return 0;
    case KEY_MPI:
        if (!cli_knows_mpi(argument))
            cli_misuse(state, "--mpi is mpich or openmpi, not '%s'", argument);
        wish->mpi = argument;
        return 0;
    case ARGP_KEY_ARG:
        wish->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        cli_misuse(state, "no program: qmpi run [OPTION...] -- PROGRAM [ARGUMENT...]");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Whether an LD_PRELOAD list has a path already. */
static bool lists(const char *list, const char *path)
{
    const size_t length = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at += length) {
        if ((at == list || strchr(": ", at[-1])) && (!at[length] || strchr(": ", at[length])))
            return true;
    }
    return false;
}

static void append(char **list, const char *path)
{
    char *longer = qmpi_format("%s:%s", *list, path);
    free(*list);
    *list = longer;
}

/* False: the run goes on without it. */
static bool check_preloadable(const char *path)
{
    if (!strpbrk(path, " :"))
        return true;
    const char *on_error = qmpi_setting("QMPI_ON_ERROR");
    const bool skips = on_error && !strcmp(on_error, "skip");
    if (qmpi_speaks())
        qmpi_sayf("%s cannot be preloaded: the dynamic loader takes no path with a space or colon\n"
                  "  mend: put it under another path%-s",
                  path,
                  skips ? "\n  the run goes on without preloading it (QMPI_ON_ERROR=skip)" : "");
    if (!skips)
        exit(2);
    return false;
}

/*
 * PMPI tools that also replace functions outside MPI (Darshan: open, read, …) see the program's
 * calls of those only where they are preloaded: behind us, and adopted as the layer that they are
 * listed as.
 */
static void append_tool(char **list, const char *others, const char *tools_folder, const char *name)
{
    enum qmpi_kind kind;
    struct qmpi_elf_file file;
    char *problem = NULL;
    char *found = qmpi_find_library(name, tools_folder, "", &problem);
    char *path = found ? realpath(found, NULL) : NULL;
    if (path)
        problem = qmpi_kind_read(path, NULL, &kind);
    if (path && !problem && kind == QMPI_KIND_PMPI && !qmpi_elf_file_open(path, &file)) {
        char *replaced = qmpi_replaces(&file.image);
        if (replaced && !lists(*list, path) && !lists(others, path) && check_preloadable(path))
            append(list, path);
        free(replaced);
        qmpi_elf_file_close(&file);
    }
    free(problem); /* whatever it is, start-up says it */
    free(found);
    free(path);
}

/* Ours first: then its MPI functions are found before any other library's. */
static void set_preload(const struct cli_build *build)
{
    const char *others = getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "";
    struct qmpi_tool_list tools;
    const char *source;
    if (!check_preloadable(build->library))
        return;
    char *list = qmpi_copy(build->library);
    qmpi_stack_read(&tools, &source);
    for (int i = 0; i < tools.count; i++) {
        if (!tools.entries[i].problem)
            append_tool(&list, others, build->tools_folder, tools.entries[i].name);
    }
    qmpi_tool_list_free(&tools);
    if (*others)
        append(&list, others);
    cli_set_variable("LD_PRELOAD", list);
    free(list);
}

static void note_no_tools(const char *program)
{
    char *path = cli_program_find(program);
    if (path && access(path, X_OK) == 0 && !cli_stack_is_given() && !getenv("LD_PRELOAD") &&
        qmpi_speaks())
        qmpi_say("no tools are given: the program runs with none but its own\n"
                 "  mend: qmpi run -t STACK; `qmpi list` shows the tools there are");
    free(path);
}

static int refuse_program(const char *name, int reason)
{
    char *here = qmpi_format("./%s", name);
    char *write_here = qmpi_format("write %s", here);
    const char *mend = "give a program that can be run here";
    if (reason == EACCES)
        mend = "give a program that you may execute";
    else if (reason == ENOENT && !strchr(name, '/') && access(here, X_OK) == 0)
        mend = write_here;
    else if (reason == ENOENT && access(name, F_OK) != 0)
        mend = "correct the name, or give its path; a stack of tools is given with -t";
    qmpi_sayf("cannot run '%s': %s\n  mend: %s", name, strerror(reason), mend);
    free(write_here);
    free(here);
    return reason == ENOENT ? 127 : 126;
}

int cli_run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "-- PROGRAM [ARGUMENT...]", doc, NULL,
                                     NULL,    NULL};
    struct wish wish = {.program = NULL};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &wish);
    char **const program = wish.program;
    cli_note_stack();
    note_no_tools(program[0]);
    struct cli_build build = cli_choose_build(wish.mpi, program[0]);
    set_preload(&build);
    free(build.library);
    free(build.tools_folder);
    cli_program_warn(program[0]);
    execvp(program[0], program);
    return refuse_program(program[0], errno);
}
