/* SPDX-License-Identifier: MIT */
/*
 * The command `qmpi`: one file per subcommand, all in the table of main.c. A subcommand gets its
 * own arguments, argv[0] being "qmpi NAME", and returns the exit status: 0, or 2 for an error of
 * use.
 */
#ifndef QMPI_CLI_CLI_H
#define QMPI_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>

int cli_run(int argc, char **argv);
int cli_list(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_functions(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_new(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_vars(int argc, char **argv);

/* As argp_parse; what getopt says of a wrong option goes through qmpi_message, too. In main.c. */
void cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *end,
               void *input);

/* As argp_error and printf, of what qmpi_message makes. In main.c. */
void cli_misuse(const struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Leaves of an MPI library's version its first line, without tabs. In stack_options.c, as all up to
 * cli_note_stack. */
void cli_tidy(char *version);

/* Sets an environment variable; ends the command where that cannot be. */
void cli_set_variable(const char *name, const char *value);

/* What the options -t and -c ask for. A file that cannot be read ends the command. */
void cli_use_stack(const char *stack);
void cli_use_config(const char *file);

/* Whether an option, a variable or a file gives a stack, be it an empty one. */
bool cli_stack_is_given(void);

/* Once all options are read: says so where -c was given, but the environment's tools win. */
void cli_note_stack(void);

/* The file that execvp would take; NULL: none. To be freed. */
char *cli_program_find(const char *name);

/* Why preloading does not reach a program, and a hint, to be freed; NULL: nothing is known. */
char *cli_program_obstacle(const char *path);

/* Warns of a program that preloading does not reach: a static or a privileged one. */
void cli_program_warn(const char *name);

/* The libqmpi to preload, and the folder of the tools that were built for the same MPI. */
struct cli_build {
    const char *mpi;
    char *library, *tools_folder; /* to be freed */
};

/* Puts libqmpi, and the tools of the stack that must be, into LD_PRELOAD. In preload.c. */
void cli_set_preload(const struct cli_build *build);

/* Why the tool at `path` must be preloaded, in words; NULL: it need not. To be freed. */
char *cli_preload_reason(const char *path);

/* Whether qmpi can be built for an MPI of this name. In build_choice.c, as the next two. */
bool cli_knows_mpi(const char *mpi);

/* The libqmpi for an MPI that is known, beside the command's own; NULL: there is none. To be freed.
 */
char *cli_find_library(const char *mpi);

/*
 * The build for `mpi`; NULL: for the MPI that the program's libraries show (NULL: no program), else
 * that of the launcher that started this process, else the command's own. Ends the command where
 * the MPI that was named has no build here.
 */
struct cli_build cli_choose_build(const char *mpi, const char *program);

/* The folder of the installed tools. */
const char *cli_tools_folder(void);

/* The MPI whose launcher a file is; NULL: it does not tell. In build_choice.c. */
const char *cli_mpi_of_launcher(const char *path);

/* This command, or NULL, as it is installed for another MPI; to be freed. In build_choice.c. */
char *cli_command_path(const char *mpi);

/* The path of the libqmpi.so that the command itself is linked with: the one to preload. */
const char *cli_library_path(void);

#endif
