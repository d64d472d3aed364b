/* SPDX-License-Identifier: MIT */
/*
 * Archives in OTF2 3.0, made from the files of a trace. Nothing but the code that writes them needs
 * libotf2. Therefore, this code is in a library of its own, qmpi-otf2.module beside the tools,
 * which is opened only to write archives. No function here makes MPI calls: processes that write an
 * archive together pass functions for communication.
 *
 *   const struct trace_otf2 *otf2 = trace_otf2_open(path of TRACE_OTF2_FILE, &problem);
 *   if (!otf2 || !otf2->write(trace, directory, NULL, &problem))
 *       … print problem, which has a hint (or is NULL: out of memory), and free it
 */
#ifndef QMPI_TRACE_FILE_OTF2_H
#define QMPI_TRACE_FILE_OTF2_H

#include "tools/trace/file/cursor.h"

#include <stdbool.h>
#include <stddef.h>

#define TRACE_OTF2_FILE "qmpi-otf2.module" /* in the directory of the tools */
#define TRACE_OTF2_FUNCTION "trace_otf2_find"
#define TRACE_OTF2_ANCHOR "traces.otf2" /* in the directory of an archive */
#define TRACE_OTF2_CREATOR "qmpi"       /* the creator in the anchor file; the version follows */

/*
 * Processes that write an archive together. All processes call all functions in the same order. The
 * functions return false on failure. The process with rank 0 is the root. Sizes are in bytes, may
 * be 0, and are equal on both sides of a transfer.
 */
struct trace_otf2_group {
    int rank, size;
    void *context; /* argument of the functions */
    bool (*barrier)(void *context);
    bool (*broadcast)(void *context, void *data, size_t size);
    /* The root receives sizes[i] bytes from each rank i and stores them in `all`, one after the
     * other. Other processes pass NULL for `all` and `sizes`. */
    bool (*gather)(void *context, const void *data, size_t size, void *all, const size_t *sizes);
    /* The root sends sizes[i] bytes to each rank i, which it takes from `all`, one after the other.
     * Other processes pass NULL for `all` and `sizes`. */
    bool (*scatter)(void *context, const void *all, const size_t *sizes, void *data, size_t size);
};

struct trace_otf2 {
    /*
     * Writes an archive of a trace to `directory`, which is made if it does not exist; `selection`
     * may be NULL. Replaces an archive that qmpi has written there; other files remain. On failure,
     * returns false and sets *problem to a message with a hint, which the caller frees, or to NULL
     * if memory is exhausted.
     */
    bool (*write)(const struct trace *trace, const char *directory,
                  const struct trace_cursor_selection *selection, char **problem);
    /*
     * Writes an archive together with other processes, which must all call this function. `file` is
     * the complete file of the calling process, or NULL if the process has recorded nothing; the
     * archive then contains the process without events. If one process fails, the function returns
     * false in all processes, and sets *problem to a message in the processes that have failed and
     * in the root, and to NULL in the others.
     */
    bool (*write_together)(const struct trace_otf2_group *group, const char *file,
                           const char *directory, char **problem);
};

/* Opens the library that writes archives. `path` is the path of the file TRACE_OTF2_FILE, or NULL
 * if it was not found. The library remains open. On failure, returns NULL and sets *problem to a
 * message with a hint, which the caller frees. */
const struct trace_otf2 *trace_otf2_open(const char *path, char **problem);

/* The type of TRACE_OTF2_FUNCTION, which returns NULL if the library was built without libotf2. */
typedef const struct trace_otf2 *trace_otf2_finder(void);

#endif
