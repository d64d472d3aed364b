/* SPDX-License-Identifier: MIT */
/*
 * Everything that libqmpi and the bundled tools write in a process of a program: to stderr and
 * stdout, and to files. The program may do to descriptors what it likes, and must neither be
 * terminated nor find its files changed because of what is written here:
 *
 * - The descriptor of a file is a high one, is closed by exec, and is compared with the file
 * (device and inode) before each use. If the program has closed it, the file is opened again; a
 * file of the program that now has this descriptor is left alone.
 * - stderr and stdout are the files that they were when the process started
 * (qmpi_output_standard_note).
 * - A pipe without a reader, and a limit on the size of files, are errors and never signals.
 * - Short writes, EINTR and EAGAIN (a non-blocking pipe or terminal) are handled. If nobody reads
 *   for QMPI_OUTPUT_PATIENCE milliseconds, the rest is lost.
 *
 * Any thread may call these functions, several at a time. Those that are marked "in handlers, too"
 * may be called in signal handlers, also in the middle of another call of them.
 */
#ifndef QMPI_UTIL_OUTPUT_H
#define QMPI_UTIL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { QMPI_OUTPUT_PATIENCE = 10000 };

/* ---- Files ----------------------------------------------------------------------------------- */

/* A file that is being written. */
struct qmpi_output {
    const char *path;
    int flags;      /* for opening it again */
    int descriptor; /* accessed atomically; -1: none */
    mode_t type;    /* S_IFREG, … */
    dev_t device;
    ino_t inode;
    int error; /* errno of the first failure of its stream; 0: none */
};

/*
 * Opens a file for writing; `flags` and `mode` are those of open, besides O_WRONLY, O_CLOEXEC and
 * O_NOCTTY. `path` is used until the file is closed: a relative one leads to the file only while
 * the current directory stays the same. Returns 0, or errno if the file is not open. In handlers,
 * too.
 */
int qmpi_output_open(struct qmpi_output *output, const char *path, int flags, mode_t mode);

/* Returns the path from the root directory: `path` leads to the same file after chdir. NULL: memory
 * is exhausted. The caller frees it. */
char *qmpi_output_full_path(const char *path);

/* The file has been renamed: this path is used from now on. */
void qmpi_output_set_path(struct qmpi_output *output, const char *path);

/* Returns the descriptor, which belongs to the file now; -1, with errno: it is lost. In handlers,
 * too. */
int qmpi_output_descriptor(struct qmpi_output *output);

/* Whether a descriptor belongs to the file, which may be closed by now. In handlers, too. */
bool qmpi_output_is(const struct qmpi_output *output, int descriptor);

/* Writes `length` bytes. Returns 0, or errno if some are lost. In handlers, too. */
int qmpi_output_write(struct qmpi_output *output, const void *bytes, size_t length);

/* Closes the file if the descriptor still belongs to it. Returns 0, or errno if the file system
 * reports a failure of a former write. In handlers, too. */
int qmpi_output_close(struct qmpi_output *output);

/*
 * Returns a stream that writes to the file, and closes it when it is closed; NULL: memory is
 * exhausted, and the file stays open. errno of the first failure is in output->error, also after
 * fclose. The stream is of one thread at a time.
 */
FILE *qmpi_output_stream(struct qmpi_output *output);

/* ---- stdout and stderr ----------------------------------------------------------------------- */

/*
 * Writes `length` bytes to STDOUT_FILENO or STDERR_FILENO of the time when the process started, and
 * returns how many were written: 0 if it was closed. In handlers, too. In a tool, this is a
 * function of libqmpi, which has seen that time; in a process without libqmpi, the descriptor is
 * used as it is.
 */
size_t qmpi_output_standard_write(int descriptor, const void *bytes, size_t length);

/* ---- In libqmpi ------------------------------------------------------------------------------ */

/* Notes what stdout and stderr are. Called once, when libqmpi is loaded. `duplicates`: and opens
 * stderr a second time (qmpi_output_standard_duplicate). */
void qmpi_output_standard_note(bool duplicates);

/*
 * Opens stderr a second time, so that messages reach it after the program has redirected its
 * descriptor 2; again: does nothing. Not if the program may only open few files. The second
 * descriptor is closed by exec, and in a forked child: a child that detaches itself must not hold
 * the pipe of its parent open.
 */
void qmpi_output_standard_duplicate(void);

/* Does what qmpi_output_standard_write does in libqmpi itself. */
size_t qmpi_output_standard_write_here(int descriptor, const void *bytes, size_t length);

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Signals that a write may cause, for code that writes in another way. */
struct qmpi_output_signals {
    unsigned held;     /* bits: those that are removed afterwards */
    unsigned unblocks; /* bits: those that are not blocked afterwards */
};

/* Blocks SIGPIPE and SIGXFSZ in this thread. In handlers, too. */
void qmpi_output_signals_block(struct qmpi_output_signals *signals);

/* Removes those that have been raised in the meantime, and restores the mask. Preserves errno. In
 * handlers, too. */
void qmpi_output_signals_restore(const struct qmpi_output_signals *signals);

/* Opens a file for a short time, like open with O_CLOEXEC, also if the program has used up its
 * soft limit on descriptors. -1: errno says why. In handlers, too. */
int qmpi_output_open_descriptor(const char *path, int flags, mode_t mode);

/*
 * Room for descriptors when the program has used up its limit (RLIMIT_NOFILE): the soft limit is
 * raised towards the hard one in the meantime. qmpi_output_open and qmpi_output_open_descriptor do
 * so themselves.
 */
struct qmpi_output_room {
    struct rlimit before;
    bool is_raised;
};
void qmpi_output_room_make(struct qmpi_output_room *room);
void qmpi_output_room_end(const struct qmpi_output_room *room);

/* Returns a copy of a descriptor with a high number, which exec closes; -1: there is none. In
 * handlers, too. */
int qmpi_output_copy_descriptor(int descriptor);

/* Moves a descriptor to a high number that exec closes. Returns the new one, or, if there is none,
 * the old one; -1: it is that of a standard stream, and closed. In handlers, too. */
int qmpi_output_move_descriptor(int descriptor);

#endif
