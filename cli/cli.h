/* SPDX-License-Identifier: MIT */
/*
 * The command `qmpi` has one file, or folder, for each subcommand. This header declares them, and
 * functions that several of them use. A subcommand receives its own arguments, with "qmpi NAME" in
 * argv[0], and returns the exit status, which is 0 on success and 2 after a usage error.
 */
#ifndef QMPI_CLI_CLI_H
#define QMPI_CLI_CLI_H

#include "cli/commands.h"

#include <argp.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* The build generates the list of subcommands, which are those that have a manual page. */
#define CLI_DECLARE(NAME) int cli_##NAME(int argc, char **argv);
CLI_COMMANDS(CLI_DECLARE)

/* ---- Basics, in main.c ----------------------------------------------------------------------- */

/* Calls argp_parse, and prints the messages of argp and getopt as qmpi_message does, which escapes
 * unprintable characters. */
void cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *end,
               void *input);

/* These are argp_error and printf with texts that qmpi_message formats. */
void cli_misuse(const struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes the output that is still buffered. Returns false, after a message, if not all output could
 * be written. Called when the process exits; to be called before _exit. */
bool cli_finish_output(void);

/* Returns a copy with a backslash in front of each of the `special` characters. The caller frees
 * it. */
char *cli_escape(const char *text, const char *special);

/* Returns a word of a command that a user may copy to a shell: the text itself or, if a shell would
 * read it in another way, the text in quotes. The caller frees it. */
char *cli_quote(const char *text);

/* Returns a copy of the next non-empty part of a list, and moves `*list` past it. The parts are
 * separated by one of the characters `separators`. Returns NULL at the end of the list, or if
 * `*list` is NULL. The caller frees the part. */
char *cli_next_part(const char **list, const char *separators);

/* Checks an output file before it is opened, because opening a FIFO without a reader would block.
 * In this case, cli_open_fifo prints a message and returns false. If the file is a FIFO with a
 * reader, *descriptor keeps the FIFO open: the reader would see its end if nobody had it open for
 * writing. The caller passes *descriptor, or -1, to cli_close_fifo when the output was written. */
bool cli_open_fifo(const char *path, int *descriptor);
void cli_close_fifo(int descriptor);

/* Sets an environment variable. Terminates the command on failure. */
void cli_set_variable(const char *name, const char *value);

/* ---- Options of the stack, in stack_options.c ------------------------------------------------ */

/* Subcommands use these parsers as children. The first one parses --tool-path, and the second one
 * also -t and -c. They set the variables that a run reads, and terminate the command if a file
 * cannot be read. */
extern const struct argp cli_tool_path_argp, cli_stack_argp;

/* Returns how messages name the origin of the directories of QMPI_TOOL_PATH. */
const char *cli_tool_path_origin(void);

/* Adds the argument of an option -t to QMPI_TOOLS. The arguments of several -t form one list. */
void cli_stack_add(const char *stack);

/* If a subcommand uses these parsers, the keys of its own long options start at this number. */
enum { CLI_KEY_FREE = 257 };

/* Makes the paths of -t and --tool-path absolute, as those of -c are, because the program, or a
 * script that starts the program, may change the working directory. */
void cli_stack_resolve(void);

/* Returns whether an option, a variable or a file gives a stack, even an empty one. */
bool cli_stack_is_given(void);

/* ---- Preloading, in preload.c ---------------------------------------------------------------- */

struct manifest;
struct layers; /* see layers.h */

/* Adds libqmpi, and the tools of the stack that must be preloaded for `program`, to LD_PRELOAD. */
void cli_set_preload(struct layers *layers, const char *program);

/* Returns whether an entry of LD_PRELOAD is a libqmpi-any of another installation than that of
 * `library`, a libqmpi. */
bool cli_preload_is_foreign_any(const char *entry, const char *library);

/* If LD_PRELOAD has given this command the libqmpi of another installation, executes the command
 * again with its own one, which knows its tools. LD_PRELOAD then has its value again. `arguments`
 * are those of main. */
void cli_use_own_library(char **arguments);

/* Returns the reason why the tool at `path` must be preloaded, or NULL if there is none. The caller
 * frees the text. `manifest` may be NULL. */
char *cli_preload_reason(const char *path, const struct manifest *manifest);

/* ---- Installed builds, in build.c ------------------------------------------------------------ */

/* A libqmpi that can be preloaded, and the directory of the tools that were built for the same
 * MPI. */
struct cli_build {
    const char *mpi;
    char *library, *tools_folder; /* The user of the structure frees them. */
};

/*
 * Returns the build for `mpi`, or terminates the command if there is none. If `mpi` is NULL, the
 * build is chosen by the first of these MPIs that is known: the MPI of the libraries of the program
 * in `command`, or of the program that `command` starts if it is a launcher; the MPI of the
 * launcher in `command`; the MPI of the launcher that started this process; the MPI of this
 * command. If no build for this MPI is installed, the build of this command is returned. `command`
 * may be NULL.
 */
struct cli_build cli_build_choose(const char *mpi, char *const *command);

/* Checks and returns the argument of --mpi. Terminates the command if it does not name an MPI for
 * which qmpi can be built. */
const char *cli_build_check_mpi(const struct argp_state *state, const char *mpi);

/* Returns the path of the libqmpi for `mpi`, which must be a known MPI, or NULL if it is not
 * installed next to the libqmpi of this command. The caller frees the path. */
char *cli_build_find_library(const char *mpi);

/* Returns the path of the qmpi command that is installed next to this one for `mpi`, or NULL if
 * there is none. The caller frees the path. */
char *cli_build_find_command(const char *mpi);

/* Returns the path of the libqmpi.so that the command is linked with, which a run preloads unless
 * it chooses another build. */
const char *cli_library_path(void);

/* Returns the directory of the installed tools. */
const char *cli_tools_folder(void);

/* Returns the MPI to which a launcher belongs, or NULL if the name of its file does not show this.
 * The path must not be that of a symbolic link, because a link may have any name. */
const char *cli_mpi_of_launcher(const char *path);

/* Returns the MPI whose launcher starts the programs of this build, or NULL if it is unknown. For
 * the standard ABI, this is the MPI of the library that the dynamic loader finds. */
const char *cli_mpi_of_library(void);

/* Shortens the version of an MPI library to its first line, without tabs. */
void cli_shorten_version(char *version);

/* ---- Commands in other processes, in child.c ------------------------------------------------- */

/* Sets the time limit after which a process is considered to hang, from the value of --timeout. The
 * default is 10 s, and 0 means no limit. Terminates the command if the value is not a time. */
void cli_child_set_time_limit(const char *text, const struct argp_state *state);

struct cli_child {
    const char *const *command; /* its path and its arguments, which end with NULL */
    /* Names and values of variables that are added to the environment, which end with NULL. */
    const char *const *variables;
    /* If true, the command writes to the output of this process, and processes that it leaves
     * behind continue to run. Otherwise, such processes are killed, and the output is captured in
     * `output` (stdout) and `errors` (stderr). */
    bool shown;
    char *output, *errors;
    /* The status from waitpid, or -1 if the process was killed after the time limit or could not be
     * started. */
    int status;
    pid_t process; /* 0 unless it is running */
    int descriptors[2];
    struct timespec deadline;
};

/* Runs commands to completion, several at a time. A process that exceeds the time limit is killed
 * with its process group. The caller frees the results with cli_child_free. */
void cli_child_run_all(struct cli_child *children, int count);

/* Runs one command and captures its output. */
struct cli_child cli_child_run(const char *const *command, const char *const *variables);
void cli_child_free(struct cli_child *child);

/* ---- Trials of stacks, in trial.c ------------------------------------------------------------ */

/* Builds and lists a stack in another process. `stack` has the format of QMPI_TOOLS, or is NULL for
 * the current stack. The caller frees the result with cli_child_free. */
struct cli_child cli_trial_run(const char *stack);

/* Returns whether the stack was built, possibly without some tools. */
bool cli_trial_is_good(const struct cli_child *child);

/* Finds the tools of the current stack that cause a failure, and passes each finding, with a hint,
 * to `say`. `ended` is the status from waitpid, or -1 if the process hung. */
void cli_trial_blame(int ended, void (*say)(const char *finding));

/* ---- The templates of qmpi new --------------------------------------------------------------- */

/* A file of templates/, which templates/embed.py converts to C. */
struct cli_template {
    const char *name;
    const char *const *lines; /* Each contains its line feed. They end with NULL. */
};

/* All templates. They end with one whose name is NULL. */
extern const struct cli_template cli_templates[];

#endif
