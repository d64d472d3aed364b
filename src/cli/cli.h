/* SPDX-License-Identifier: MIT */
/*
 * The command `qmpi`: one file per subcommand. A subcommand receives
 * its own arguments, with "qmpi NAME" in argv[0], and returns the exit status: 0, or 2 after a
 * usage error.
 */
#ifndef QMPI_CLI_CLI_H
#define QMPI_CLI_CLI_H

#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>

/* The subcommands are those that have a manual page: the build generates the list. */
#define CLI_DECLARE(NAME) int cli_##NAME(int argc, char **argv);
CLI_COMMANDS(CLI_DECLARE)

/* Like argp_parse, but messages of getopt are also escaped by qmpi_message. In main.c. */
void cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *end,
               void *input);

/* Like argp_error and printf, but with messages that qmpi_message formats. In main.c. */
void cli_misuse(const struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shortens the version of an MPI library to its first line, without tabs. In stack_options.c, like
 * all functions up to cli_stack_is_given. */
void cli_tidy(char *version);

/* Sets an environment variable; terminates the command on failure. */
void cli_set_variable(const char *name, const char *value);

/* The keys of options: --tool-path, and from where on a subcommand may choose those of its own. */
enum { CLI_KEY_TOOL_PATH = 256, CLI_KEY_FREE };

/* Carries out -t, -c and --tool-path, for the default case of a subcommand's parser. A file that
 * cannot be read ends the command. */
error_t cli_parse_stack(int key, char *argument);

/* Whether an option, a variable or a file gives a stack, even an empty one. */
bool cli_stack_is_given(void);

/* Returns the file that execvp would execute; NULL: none. The caller frees it. */
char *cli_program_find(const char *name);

/* Returns the reason why preloading does not reach a program, with a hint, which the caller frees;
 * NULL: no reason known. */
char *cli_program_obstacle(const char *path);

/* Warns about a program that preloading does not reach: a static or privileged one. */
void cli_program_warn(const char *name);

/* The libqmpi to preload, and the directory of the tools that were built for the same MPI. */
struct cli_build {
    const char *mpi;
    char *library, *tools_folder; /* to be freed */
};

/* The stack with the manifests of its tools: see manifests/manifests.h. */
struct manifest;
struct manifest_stack;

/* Adds libqmpi, and the tools of the stack that must be preloaded for `program`, to LD_PRELOAD. In
 * preload.c. */
void cli_set_preload(struct manifest_stack *stack, const char *program);

/* Returns the reason why the tool at `path` must be preloaded, as text, which the caller frees;
 * NULL: it need not be. `manifest` may be NULL. */
char *cli_preload_reason(const char *path, const struct manifest *manifest);

/* The argument of --mpi, if qmpi can be built for an MPI of this name. In build_choice.c, as the
 * next two. */
const char *cli_check_mpi(const struct argp_state *state, const char *mpi);

/* Returns the libqmpi for a known MPI, next to that of this command; NULL: none. The caller frees
 * it.
 */
char *cli_find_library(const char *mpi);

/*
 * Returns the build for `mpi`. If `mpi` is NULL, returns the build for the MPI of the program's
 * libraries (NULL: no program), else of the launcher that started this process, else of this
 * command. Terminates the command if there is no build for `mpi`.
 */
struct cli_build cli_choose_build(const char *mpi, const char *program);

/* Returns the directory of the installed tools. */
const char *cli_tools_folder(void);

/* Returns the MPI to which a launcher belongs; NULL: unknown. In build_choice.c. */
const char *cli_mpi_of_launcher(const char *path);

/*
 * Returns the MPI whose launcher starts the programs of this build: for the standard ABI, that of
 * the library that the dynamic loader finds; NULL: unknown. In build_choice.c.
 */
const char *cli_mpi_of_library(void);

/* Returns the path of this command as installed for an MPI, or NULL; the caller frees it. In
 * build_choice.c. */
char *cli_command_path(const char *mpi);

/* A function that only this libqmpi or only an MPI library has (`provided`); its number, -1: it has
 * none. */
typedef void cli_function(void *data, int number, const char *name, bool provided);

/* Calls `each` for the functions in which an MPI library and this libqmpi differ. Returns NULL, or
 * the reason why the library cannot be read. In mpi_functions.c. */
const char *cli_compare_functions(const char *path, cli_function *each, void *data);

/* Returns the path of the libqmpi.so that the command is linked with, which is the one to preload.
 */
const char *cli_library_path(void);

#endif
