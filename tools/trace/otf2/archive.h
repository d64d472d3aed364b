/* SPDX-License-Identifier: MIT */
/* An archive that is being written: its files, and the errors of libotf2 as messages. */
#ifndef QMPI_TRACE_OTF2_ARCHIVE_H
#define QMPI_TRACE_OTF2_ARCHIVE_H

#include "tools/trace/file/otf2.h"
#include "tools/trace/otf2/part.h"

#include <otf2/otf2.h>
#include <stdbool.h>

struct trace_archive {
    OTF2_Archive *files;
    const struct trace_otf2_group *group; /* NULL if only this process writes the archive */
    const char *directory;
    char *reason; /* text of the first error, or NULL */
    bool failed;
    OTF2_ErrorCallback callback; /* the callback that was set before */
};

/* Makes room for an archive in a directory, by removing an earlier archive of qmpi. On failure,
 * returns false and sets *problem to the reason, or to NULL if memory is exhausted. */
bool trace_archive_make_room(const char *directory, char **problem);

/* Removes the files of an archive; other files remain. */
void trace_archive_remove(const char *directory);

/* Opens an archive for writing. On failure, sets archive->failed; trace_archive_start must then not
 * be called. The other functions below write nothing if archive->files is NULL. The archive must
 * not be moved in memory, and `directory` and `group` must stay valid. */
void trace_archive_open(struct trace_archive *archive, const char *directory,
                        const struct trace_otf2_group *group);

/* Makes the directories. If a group of processes writes the archive, all of them must call this
 * function, which fails in all of them or in none. From then on, all of them must call the same
 * functions, even after a failure. */
bool trace_archive_start(struct trace_archive *archive);

/* Records an error, unless it is OTF2_SUCCESS. */
void trace_archive_check(struct trace_archive *archive, OTF2_ErrorCode error);

void trace_archive_open_events(struct trace_archive *archive);
void trace_archive_close_events(struct trace_archive *archive);

/* Must be called instead of trace_archive_close_events if events could not be written, by all
 * processes of a group. The archive then stays open until the process ends: libotf2 3.0 would use
 * memory that it has freed when it closes the archive. */
void trace_archive_abandon(struct trace_archive *archive);

/* Returns whether there is room on the disk for the data of a thread that libotf2 still buffers. If
 * there is no room, closing the file may crash. */
bool trace_archive_has_room(const char *directory, uint64_t location);

/* These functions open, write and close the definitions of threads, which are mapping tables and
 * clock offsets. trace_archive_write_empty writes empty ones, for threads of processes without a
 * part. */
void trace_archive_open_locals(struct trace_archive *archive);
void trace_archive_write_locals(struct trace_archive *archive, const struct trace_part *part,
                                const struct trace_part_tables *tables);
void trace_archive_write_empty(struct trace_archive *archive, uint64_t location);
void trace_archive_close_locals(struct trace_archive *archive);

/* Closes the archive. On failure, returns false and sets *problem to a message, or to NULL if
 * memory is exhausted. */
bool trace_archive_close(struct trace_archive *archive, char **problem);

#endif
