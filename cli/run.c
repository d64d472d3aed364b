/* SPDX-License-Identifier: MIT */
/* qmpi run sets the environment and becomes the program. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/layers.h"
#include "cli/program.h"

#include "util/util.h"

#include <argp.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_ON_ERROR = CLI_KEY_FREE, KEY_DEBUG, KEY_MPI, KEY_VALIDATE };

static const struct argp_option options[] = {
    {"on-error", KEY_ON_ERROR, "stop|skip", 0,
     "what to do if a tool cannot be used (sets QMPI_ON_ERROR)", 0},
    {"debug", KEY_DEBUG, "TOPICS", 0,
     "what to print debugging messages about: parse, find, load, base, chain or all (sets "
     "QMPI_DEBUG)",
     0},
    {"validate", KEY_VALIDATE, NULL, 0,
     "check in each call that the tools keep the rules of QMPI (sets QMPI_VALIDATE=yes)", 0},
    {"mpi", KEY_MPI, "mpich|openmpi|abi", 0,
     "the MPI of the program, if its libraries do not show it (default: the MPI of the launcher, "
     "else of this command)",
     0},
    {0},
};

struct run_request {
    char **program;
    const char *mpi; /* the argument of --mpi, or NULL */
};

static const char doc[] =
    "Run a program under a stack of tools. With a launcher, place the command in front of the "
    "program:\v  mpiexec -n 4 qmpi run -t count:empty:count -- ./app arguments\n"
    "\n"
    "An option that is not given leaves its variable unchanged.";

static error_t parse_run_option(int key, char *argument, struct argp_state *state)
{
    struct run_request *request = state->input;
    switch (key) {
    case KEY_ON_ERROR:
        if (strcmp(argument, "stop") != 0 && strcmp(argument, "skip") != 0)
            cli_misuse(state, "--on-error is stop or skip, not '%s'", argument);
        cli_set_variable("QMPI_ON_ERROR", argument);
        return 0;
    case KEY_DEBUG:
        cli_set_variable("QMPI_DEBUG", argument);
        return 0;
    case KEY_VALIDATE:
        cli_set_variable("QMPI_VALIDATE", "yes");
        return 0;
    case KEY_MPI:
        request->mpi = cli_build_check_mpi(state, argument);
        return 0;
    case ARGP_KEY_ARG:
        request->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        cli_misuse(state, "missing program: qmpi run [OPTION...] -- PROGRAM [ARGUMENT...]");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void report_missing_stack(const char *program)
{
    char *path = program_find_argument(program);
    if (path && !cli_stack_is_given() && !getenv("LD_PRELOAD") && qmpi_launcher_reports())
        qmpi_print("no tools are given: the program runs without a stack of tools\n"
                   "  hint: give a stack with -t; `qmpi list` lists installed tools");
    free(path);
}

/* Sets the variable by which tools distinguish the files of this run from those of earlier runs
 * (lib/toolkit/run.h). A nested run keeps the value, because it is a part of the outer run. */
static void identify_run(void)
{
    struct timespec now;
    if (qmpi_getenv("QMPI_RUN"))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    char *run = qmpi_format("%lld.%09ld-%ld", (long long)now.tv_sec, now.tv_nsec, (long)getpid());
    cli_set_variable("QMPI_RUN", run);
    free(run);
}

/*
 * Open MPI's launcher passes a variable on to other hosts only if it is listed in
 * OMPI_MCA_mca_base_env_list or given with -x. The launcher rejects a command that uses both ways.
 * Therefore, this function does nothing if the user has chosen one of them; the user then has to
 * name the variables of qmpi, too. The list contains the values, because version 5 does not pass on
 * a value that contains '=' if only the name is listed.
 */
static void pass_variables_on(char **command)
{
    static const char list[] = "OMPI_MCA_mca_base_env_list";
    char *path = program_is_launcher(command[0]) ? program_find(command[0]) : NULL;
    char *launcher = path ? realpath(path, NULL) : NULL;
    const char *mpi = launcher ? cli_mpi_of_launcher(launcher) : NULL;
    bool is_wanted = mpi && !strcmp(mpi, "openmpi") && !getenv(list);
    for (char **word = command; *word; word++)
        is_wanted = is_wanted && strcmp(*word, "-x") != 0;
    char *settings = NULL;
    for (char **variable = environ; is_wanted && *variable; variable++) {
        if ((strncmp(*variable, "QMPI_", 5) && strncmp(*variable, "LD_PRELOAD=", 11)) ||
            strchr(*variable, ';'))
            continue;
        char *more =
            qmpi_format("%s%s%s", settings ? settings : "", settings ? ";" : "", *variable);
        free(settings);
        settings = more;
    }
    if (settings)
        cli_set_variable(list, settings);
    free(settings);
    free(launcher);
    free(path);
}

/* Returns which variables srun passes on: the argument of its option --export, or else the value of
 * SLURM_EXPORT_ENV. Returns NULL if neither is given, so that srun passes on all variables. */
static const char *exports_of_srun(char *const *command)
{
    static const char option[] = "--export";
    const char *exports = getenv("SLURM_EXPORT_ENV");
    char *program = NULL;
    for (char *const *word = command + 1; *word && !program; word++) {
        const char *value = *word + sizeof option - 1;
        const bool is_option = !strncmp(*word, option, sizeof option - 1);
        if (is_option && *value == '=')
            exports = value + 1;
        else if (is_option && !*value && word[1])
            exports = word[1];
        program = program_find_argument(*word);
    }
    free(program);
    return exports;
}

/* If srun does not pass on the variables of qmpi, libqmpi is not loaded into its processes, and
 * cannot report this. */
static void warn_of_exports(char *const *command)
{
    if (strcmp(qmpi_text_base_name(command[0]), "srun") != 0)
        return;
    const char *exports = exports_of_srun(command), *list = exports;
    bool has_all = !exports;
    for (char *name; !has_all && (name = cli_next_part(&list, ","));) {
        has_all = !strcasecmp(name, "ALL") || !strncmp(name, "LD_PRELOAD", strlen("LD_PRELOAD"));
        free(name);
    }
    if (!has_all)
        qmpi_printf(
            "srun passes no variables of qmpi on (--export=%s): the program runs without tools\n"
            "  hint: use `srun --export=ALL`, or place `qmpi run` after srun and its options",
            exports);
}

static int refuse_program(const char *name, int reason)
{
    char *path = program_find(name), *here = qmpi_format("./%s", name);
    char *executable = *name && !path ? program_find_argument(here) : NULL;
    char *word = cli_quote(here), *write_here = qmpi_format("write %s", word);
    const bool is_directory = path && program_is_directory(path);
    const char *hint = "give a program that this machine can run";
    if (is_directory)
        hint = "give the path of a program";
    else if (executable)
        hint = write_here;
    else if (!path || (access(path, F_OK) != 0 && errno != EACCES))
        hint = "correct the name, or give its path; a stack of tools is given with -t";
    else if (reason == EACCES)
        hint = "give a program that you are allowed to execute";
    else if (reason == ENOEXEC)
        hint = "give a program that is built for the processor of this machine";
    qmpi_printf("cannot run '%s': %s\n  hint: %s", name, strerror(is_directory ? EISDIR : reason),
                hint);
    free(write_here);
    free(word);
    free(executable);
    free(here);
    free(path);
    return reason == ENOENT ? 127 : 126;
}

static bool is_elf(const char *path)
{
    char magic[SELFMAG] = "";
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool found =
        file >= 0 && read(file, magic, SELFMAG) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
    if (file >= 0)
        close(file);
    return found;
}

/* Returns the exit status, but only if the program cannot run. execvp lets a shell run a file that
 * the kernel rejects, because the file may be a script that does not begin with `#!`. An ELF file
 * is not a script, even if it is for another processor. */
static int become_program(char **program)
{
    char *path = program_find(program[0]);
    if (path && is_elf(path))
        execv(path, program);
    else
        execvp(program[0], program);
    const int reason = errno;
    free(path);
    return refuse_program(program[0], reason);
}

int cli_run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_stack_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options, parse_run_option, "-- PROGRAM [ARGUMENT...]", doc, children, NULL, NULL};
    struct run_request request = {.program = NULL};
    cli_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request);
    char **const program = request.program;
    identify_run();
    cli_stack_resolve();
    report_missing_stack(program[0]);
    struct cli_build build = cli_build_choose(request.mpi, program);
    struct layers layers = layers_read(&build);
    layers_check_conditions(&layers);
    cli_set_preload(&layers, program[0]);
    layers_warn(&layers);
    layers_free(&layers);
    free(build.library);
    free(build.tools_folder);
    program_warn(program[0]);
    pass_variables_on(program);
    warn_of_exports(program);
    return become_program(program);
}
