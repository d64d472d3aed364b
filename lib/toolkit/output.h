/* SPDX-License-Identifier: MIT */
/*
 * Output files: makes their names from patterns, and chooses the file to which an output is
 * written. The processes of one run (run.h) share a directory, and several programs of a run may
 * have the same option output=. A file that another program of the run has written is not
 * overwritten, and the next free name is used instead, such as p.2.json. A file of an earlier run
 * is overwritten.
 *
 * A file was written in this run if it has changed since the run began. Therefore, no lock files
 * are needed, and a process that is killed leaves none behind.
 */
#ifndef QMPI_TOOLKIT_OUTPUT_H
#define QMPI_TOOLKIT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* ---- Names ----------------------------------------------------------------------------------- */

/* The names of output files have the same placeholders in all bundled tools. */

/* This text describes the placeholders in messages. */
#define TOOL_OUTPUT_NAME_HINT                                                                      \
    "%r %p %t %h %x %j %u %d are placeholders, ${NAME} is the value of an environment variable, "  \
    "and %% is a percent sign"

/*
 * From now on, %p is the id of the calling process, even in a forked child that writes the file on
 * its behalf. A tool must call this in `init`.
 */
void tool_output_name_start(void);

/*
 * Returns the file name for `pattern`, in which %r is the rank, %p the process id, %t the tool_id,
 * %h the host, %x the name of the program, %j the number of the batch job with that of its step, or
 * 0 if there is none (see tool_run_batch_step), %u the user, %d the date on which the run began, %%
 * a percent sign, and %$ a dollar sign. ${NAME} is the value of an environment variable. The caller
 * frees the name. Returns NULL if the pattern contains another placeholder or a variable that is
 * unset or empty, or ends with %, or if memory is exhausted.
 */
char *tool_output_name(const char *pattern, int tool_id, int rank);

/* Returns whether the pattern contains %r or %p, so that each process has its own file name. */
bool tool_output_name_is_per_process(const char *pattern);

/* Returns the index at which the suffix of a pattern begins, such as 4 for "a/%h.json". If there is
 * no suffix, returns the length of the pattern. */
size_t tool_output_name_suffix(const char *pattern);

/* Returns whether a path is that of a device, a FIFO or another file that is not regular. Any
 * number of layers and ranks may use such a file at the same time. */
bool tool_output_name_is_special(const char *path);

/* ---- Files ----------------------------------------------------------------------------------- */

struct tool_output {
    int tool_id, rank;
    char *head, *tail; /* The number is inserted between these two parts of the name. */
    /* These are the parts of the name for rank 0. They are NULL in rank 0 itself, and if
     * `is_of_process` of struct tool_output_names is false. */
    char *first_head, *first_tail;
    char *folder; /* Relative names begin here, or in the current directory if this is NULL. */
    /* If false, the path is relative while the folder is the current directory. */
    bool is_absolute;
    bool is_special; /* The file is a device, a FIFO or the like (see tool_output_name_is_special).
                      */
    /* `is_claimed` is true while the name with the current number is claimed. `is_said` is true if
     * tool_output_report has printed its message. */
    bool is_claimed, is_said;
    /* The caller sets this before tool_output_claim if ranks may write their files before MPI_Init
     * returns. Another rank of this program may then have written its file before this process
     * began, so its file alone is no sign of an earlier program. */
    bool is_early;
    /* `number` is the number in the name, from 1, and `expected` is the number that all ranks are
     * expected to choose. Each is 0 until it has been chosen. */
    int number, expected;
    char *path;  /* This is the path that was returned last. */
    size_t room; /* This is the size of `path` in bytes. */
};

struct tool_output_names {
    const char *pattern; /* This is a pattern for tool_output_name. */
    int tool_id, rank;
    /* True if each process writes a file. The rank is then inserted before the suffix, unless the
     * pattern contains %r or %p. */
    bool is_of_process;
    /* True if this process has no rank (see tool_world_has_rank). The process id is then inserted
     * instead of the rank, even if the pattern contains %r. */
    bool has_no_rank;
    const char *part;   /* This is another part that is inserted before the suffix, or NULL. */
    const char *folder; /* Relative names begin here, or in the current directory if it is NULL. */
    bool is_directory;  /* The output is a directory, which does not count as a special file. */
    /* If false, the path is relative while the folder is the current directory. */
    bool is_absolute;
};

/* Prepares an output. A tool must call this in `init` or later, and may free `names` and its
 * strings afterwards. Returns false if memory is exhausted or the pattern is invalid. All members
 * of `output` are then 0. */
bool tool_output_make(struct tool_output *output, const struct tool_output_names *names);

/* Frees the members of an output. */
void tool_output_clear(struct tool_output *output);

/* Returns the path without a number. The output has this path unless another program of the run has
 * written a file of this name. The path is valid until the next call for this output.
 * tool_output_make must have succeeded. */
const char *tool_output_path(struct tool_output *output);

/*
 * Chooses the name for writing, and returns its path, which is valid until the next call for this
 * output. Later calls return the same name until tool_output_pass is called. If `creates` is true,
 * an empty file is created if there is none, so that no other process takes the name. Otherwise,
 * the caller must not replace a file that appears meanwhile (see tool_output_rename). Returns NULL
 * if tool_output_make has failed. This may be called in a signal handler.
 */
const char *tool_output_claim(struct tool_output *output, bool creates);

/* Gives up a claimed name, so that the next call of tool_output_claim chooses again. This is for
 * the case that another process has created the file meanwhile. */
void tool_output_pass(struct tool_output *output);

/* Returns the path with the next number, which is valid until the next call for this output. This
 * is for an output that the caller creates itself, such as a directory. tool_output_make must have
 * succeeded. */
const char *tool_output_next(struct tool_output *output);

/* tool_output_is_of_run returns whether a file that was last changed at `time` belongs to this run.
 * tool_output_is_complete returns whether `time` is also before the start of this program. Such a
 * file no longer changes, so all ranks see the same file. A file that any rank writes after
 * tool_run_find was called in this process is not complete. A file that another rank has written
 * before may seem to be complete if the start of the launcher is not known. */
bool tool_output_is_of_run(const struct timespec *time);
bool tool_output_is_complete(const struct timespec *time);

/* Prints a message if the name of the file differs from the name that the user asked for. Each
 * output prints it at most once, and only rank 0 prints it for the ranks that have the expected
 * number. `tool` is the name of the tool. */
void tool_output_report(struct tool_output *output, const char *tool);

/*
 * Renames a complete file. If `is_new` is true and a file with the new name exists, this fails with
 * EEXIST. Returns 0 or the error number.
 */
int tool_output_rename(const char *from, const char *to, bool is_new);

#endif
