/* SPDX-License-Identifier: MIT */
/*
 * Everything that libqmpi and the bundled tools write in a process of a program: to stderr and
 * stdout, and to files. The program may close and reuse any descriptor. Writing must neither
 * terminate the program nor change its files:
 *
 * - The descriptor of a file has a high number if possible, is closed by exec, and is compared with
 *   the file (device and inode) before each use. If the program has closed it, the file is opened
 *   again. A file of the program that now has this descriptor is left alone.
 * - stderr and stdout are the files that were open under these descriptors when the process
 *   started (qmpi_output_standard_note).
 * - A pipe without a reader, and a limit on the size of files, cause errors, but no signals.
 * - Short writes, EINTR and EAGAIN (a non-blocking pipe or terminal) are handled. If the reader
 *   does not read for QMPI_OUTPUT_PATIENCE milliseconds, the rest of the output is lost. Later
 *   output to stdout or stderr then does not wait, until a write succeeds.
 *
 * Several threads may call these functions at the same time. Functions whose comment ends with "In
 * handlers, too." may also be called in signal handlers, even if the handler has interrupted one of
 * these functions.
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
    int flags;      /* for opening the file again */
    int descriptor; /* -1: none. Stored with release after the other members; a thread that opens
                       the file again exchanges it, and others load it with acquire */
    mode_t type;    /* S_IFREG, … */
    dev_t device;
    ino_t inode;
    int error; /* errno of the first failure of its stream; 0: none */
};

/*
 * Opens a file for writing; `flags` and `mode` are those of open, besides O_WRONLY, O_CLOEXEC and
 * O_NOCTTY. `path` is used until the file is closed: a relative path is valid only until the
 * current directory changes. Returns 0, or the error number if the file cannot be opened. In
 * handlers, too.
 */
int qmpi_output_open(struct qmpi_output *output, const char *path, int flags, mode_t mode);

/* Returns the absolute path, which still leads to the same file after the current directory has
 * changed, or a copy of `path` if the current directory is unknown. The caller frees it. Returns
 * NULL if memory is exhausted. */
char *qmpi_output_full_path(const char *path);

/* Sets the path after the file has been renamed. */
void qmpi_output_set_path(struct qmpi_output *output, const char *path);

/* Returns the descriptor, which is certain to belong to the file. If the file is lost, returns -1
 * and sets errno. In handlers, too. */
int qmpi_output_descriptor(struct qmpi_output *output);

/* Returns whether a descriptor belongs to the file, which may be closed by now. In handlers,
 * too. */
bool qmpi_output_is(const struct qmpi_output *output, int descriptor);

/* Writes `length` bytes. Returns 0, or errno if some are lost. In handlers, too. */
int qmpi_output_write(struct qmpi_output *output, const void *bytes, size_t length);

/* Closes the file if the descriptor still belongs to it. Returns 0, or errno if the file system
 * reports a failure of a former write. In handlers, too. */
int qmpi_output_close(struct qmpi_output *output);

/*
 * Returns a stream that writes to the file. Closing the stream closes the file. Returns NULL if
 * memory is exhausted; the file then stays open. output->error contains the error number of the
 * first failure, also after fclose. Only one thread at a time may use the stream.
 */
FILE *qmpi_output_stream(struct qmpi_output *output);

/* ---- stdout and stderr ----------------------------------------------------------------------- */

/*
 * Writes `length` bytes to the file that was stdout or stderr when the process started.
 * `descriptor` is STDOUT_FILENO or STDERR_FILENO. Returns how many bytes were written, which is 0
 * if the file was closed. In a tool, this calls a function of libqmpi, which has recorded these
 * files. In a process without libqmpi, the tool writes to the descriptor as it is. In handlers,
 * too.
 */
size_t qmpi_output_standard_write(int descriptor, const void *bytes, size_t length);

/* ---- In libqmpi ------------------------------------------------------------------------------ */

/* Records which files stdout and stderr are. Called once, when libqmpi is loaded. If `duplicates`
 * is true, also calls qmpi_output_standard_duplicate. */
void qmpi_output_standard_note(bool duplicates);

/*
 * Opens stderr a second time, so that messages reach it even after the program has redirected
 * descriptor 2. Does nothing if this was done before, if descriptor 2 is closed or redirected
 * already, or if the program may open only few files. The second descriptor is closed by exec and
 * in a forked child, because a child that detaches itself must not keep the pipe of its parent
 * open.
 */
void qmpi_output_standard_duplicate(void);

/* Implements qmpi_output_standard_write in libqmpi itself. */
size_t qmpi_output_standard_write_here(int descriptor, const void *bytes, size_t length);

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Signals that a write may cause. These functions are for code that does not write by
 * qmpi_output_write. */
struct qmpi_output_signals {
    unsigned held;     /* bits: signals to remove afterwards */
    unsigned unblocks; /* bits: signals to unblock afterwards */
};

/* Blocks SIGPIPE and SIGXFSZ in this thread. In handlers, too. */
void qmpi_output_signals_block(struct qmpi_output_signals *signals);

/* Removes the signals that were raised after qmpi_output_signals_block, and restores the mask.
 * Preserves errno. In handlers, too. */
void qmpi_output_signals_restore(const struct qmpi_output_signals *signals);

/* Opens a file for a short time, like open with O_CLOEXEC, even if the program has used up its soft
 * limit on descriptors. Returns -1, and sets errno, if this fails. In handlers, too. */
int qmpi_output_open_descriptor(const char *path, int flags, mode_t mode);

/*
 * Between qmpi_output_room_make and qmpi_output_room_end, the soft limit on descriptors
 * (RLIMIT_NOFILE) is raised towards the hard limit, because the program may have used up its
 * descriptors. qmpi_output_open and qmpi_output_open_descriptor do so themselves.
 */
struct qmpi_output_room {
    struct rlimit before;
    bool is_raised;
};
void qmpi_output_room_make(struct qmpi_output_room *room);
void qmpi_output_room_end(const struct qmpi_output_room *room);

/* Returns a copy of a descriptor. The copy has a high number if possible, and exec closes it.
 * Returns -1 if no descriptor is available. In handlers, too. */
int qmpi_output_copy_descriptor(int descriptor);

/* Replaces a descriptor with a copy (see qmpi_output_copy_descriptor), and returns the copy. If no
 * descriptor is available, returns the old one. If the old one has the number of a standard stream,
 * however, closes it, and returns -1. In handlers, too. */
int qmpi_output_move_descriptor(int descriptor);

#endif
