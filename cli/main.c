/* SPDX-License-Identifier: MIT */
/* The command qmpi finds the subcommand and passes the arguments on. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "generate/build.h"
#include "util/util.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* argp finds this variable by its name. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "qmpi " QMPI_VERSION " for " QMPI_MPI;

static const struct {
    const char *name;
    int (*function)(int argc, char **argv);
} commands[] = {
#define COMMAND(NAME) {#NAME, cli_##NAME},
    CLI_COMMANDS(COMMAND)};

static const char doc[] = "Run several MPI tools at once on one unmodified program.\v"
                          "Commands:\n" CLI_COMMANDS_HELP "\n"
                          "Run `qmpi COMMAND --help` for the options of a command.";

/* ---- Messages -------------------------------------------------------------------------------- */

static FILE *plain_errors; /* the real stderr while another stream replaces it, or NULL */

static ssize_t write_shown(void *cookie, const char *text, size_t size)
{
    char *copy = qmpi_copy_part(text, size), *shown = qmpi_message("%-s", copy);
    (void)cookie;
    fputs(shown, plain_errors);
    free(shown);
    free(copy);
    return (ssize_t)size;
}

static void end_shown(void)
{
    if (!plain_errors)
        return;
    fclose(stderr);
    stderr = plain_errors;
    plain_errors = NULL;
}

void cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *end,
               void *input)
{
    const cookie_io_functions_t functions = {.write = write_shown};
    FILE *shown = fopencookie(NULL, "w", functions);
    if (shown) {
        setvbuf(shown, NULL, _IOLBF, BUFSIZ);
        plain_errors = stderr;
        stderr = shown;
    }
    argp_parse(argp, argc, argv, flags, end, input);
    end_shown();
}

/* ---- Standard output ------------------------------------------------------------------------- */

/* If standard output is closed, lets writes to it fail. Otherwise, a file that is opened later
 * would be standard output. A program that this process becomes finds it closed, as it was. */
static void keep_output_closed(void)
{
    if (fcntl(STDOUT_FILENO, F_GETFD) >= 0)
        return;
    const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && descriptor != STDOUT_FILENO) {
        dup3(descriptor, STDOUT_FILENO, O_CLOEXEC);
        close(descriptor);
    }
}

bool cli_finish_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    qmpi_printf("cannot write to standard output%s%s\nhint: check where standard output leads",
                errno ? ": " : "", errno ? strerror(errno) : "");
    return false;
}

/* Subcommands return, but argp exits after it has printed a help text. A command that fails with
 * status 2 has printed a message. */
static void finish_at_exit(int status, void *data)
{
    (void)data;
    end_shown();
    if (status != 2 && !cli_finish_output())
        _exit(2);
}

/* ---- Subcommands ----------------------------------------------------------------------------- */

static const char *command_at(const void *data, int index)
{
    (void)data;
    return (size_t)index < sizeof commands / sizeof *commands ? commands[index].name : NULL;
}

static error_t parse_command(int key, char *argument, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG) {
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
            if (strcmp(argument, commands[i].name) != 0)
                continue;
            static char name[64];
            snprintf(name, sizeof name, "qmpi %s", argument);
            state->argv[state->next - 1] = name;
            end_shown();
            exit(
                commands[i].function(state->argc - state->next + 1, state->argv + state->next - 1));
        }
        const char *similar = qmpi_text_suggest(argument, command_at, NULL);
        cli_misuse(state, "unknown command '%s'%s%s%s", argument, similar ? "; did you mean '" : "",
                   similar ? similar : "", similar ? "'?" : "");
    }
    if (key == ARGP_KEY_NO_ARGS)
        argp_state_help(state, stderr,
                        ARGP_HELP_SHORT_USAGE | ARGP_HELP_POST_DOC | ARGP_HELP_EXIT_ERR);
    return ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_command, .args_doc = "COMMAND [ARGUMENT...]", .doc = doc};
    argp_err_exit_status = 2;
    cli_use_own_library(argv);
    keep_output_closed();
    on_exit(finish_at_exit, NULL);
    cli_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
    return 2;
}
