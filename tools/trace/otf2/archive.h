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
    const struct trace_otf2_group *group; /* NULL: only this process writes the archive */
    const char *directory;
    char *reason; /* text of the first error; NULL: there was none */
    bool failed;
    OTF2_ErrorCallback callback; /* the callback that was set before */
};

/* Makes room for an archive in a directory, by removing an earlier one of qmpi. On failure, returns
 * false and sets *problem to the reason; NULL: memory is exhausted. */
bool trace_archive_make_room(const char *directory, char **problem);

/* Removes the files of an archive; other files remain. */
void trace_archive_remove(const char *directory);

/* Opens an archive for writing. On failure, archive->failed is set. The functions below do nothing
 * if archive->files is NULL. The archive must not be moved in memory. */
void trace_archive_open(struct trace_archive *archive, const char *directory,
                        const struct trace_otf2_group *group);

/* Makes the directories. If the archive is open in all processes of a group, all of them call this,
 * and it fails in all or in none. Afterwards, all of them call the same functions, even after a
 * failure. */
bool trace_archive_start(struct trace_archive *archive);

/* Records an error, if it is one. */
void trace_archive_check(struct trace_archive *archive, OTF2_ErrorCode error);

void trace_archive_open_events(struct trace_archive *archive);
void trace_archive_close_events(struct trace_archive *archive);

/* Called instead of trace_archive_close_events if events could not be written. libotf2 3.0 would
 * then use memory that it has freed, so the archive stays open until the process ends. All
 * processes of a group must do this.
 */
void trace_archive_abandon(struct trace_archive *archive);

/* Whether there is room on the disk for the data of a thread that libotf2 still buffers. If there
 * is not, closing the file may crash. */
bool trace_archive_has_room(const char *directory, uint64_t location);

/* Open and write the definitions of threads: mapping tables and clock offsets. Threads without a
 * part have empty ones. */
void trace_archive_open_locals(struct trace_archive *archive);
void trace_archive_write_locals(struct trace_archive *archive, const struct trace_part *part,
                                const struct trace_part_tables *tables);
void trace_archive_write_empty(struct trace_archive *archive, uint64_t location);
void trace_archive_close_locals(struct trace_archive *archive);

/* Closes the archive. On failure, returns false and sets *problem to a message; NULL: memory is
 * exhausted. */
bool trace_archive_close(struct trace_archive *archive, char **problem);

#endif
