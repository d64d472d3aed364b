/* SPDX-License-Identifier: MIT */
/* An archive that is written: its files, and the errors of libotf2 as messages. */
#ifndef QMPI_TRACE_OTF2_ARCHIVE_H
#define QMPI_TRACE_OTF2_ARCHIVE_H

#include "tools/trace/file/otf2.h"
#include "tools/trace/otf2/part.h"

#include <otf2/otf2.h>
#include <stdbool.h>

struct trace_archive {
    OTF2_Archive *files;
    const struct trace_otf2_group *group; /* NULL: this process alone writes it */
    const char *directory;
    char *reason; /* of the first error; NULL: none was said */
    bool failed;
    OTF2_ErrorCallback callback; /* that was there before */
};

/* Makes room for an archive in a directory: removes one of qmpi. False: *problem tells why not;
 * NULL: memory is exhausted. */
bool trace_archive_make_room(const char *directory, char **problem);

/* Removes the files of an archive, if they are those of one. */
void trace_archive_remove(const char *directory);

/* Opens an archive for writing. On failure, archive->failed is set. Functions do nothing where
 * archive->files is NULL. The archive must remain where it is. */
void trace_archive_open(struct trace_archive *archive, const char *directory,
                        const struct trace_otf2_group *group);

/* Makes the directories. All processes of a group call it, if it is open in all. They fail
 * together. From then on, all call the same functions, whether or not they have failed. */
bool trace_archive_start(struct trace_archive *archive);

/* Notes an error. */
void trace_archive_check(struct trace_archive *archive, OTF2_ErrorCode error);

void trace_archive_open_events(struct trace_archive *archive);
void trace_archive_close_events(struct trace_archive *archive);

/* Instead of trace_archive_close_events, if events could not be written. libotf2 3.0 would use
 * memory that it has freed: the archive stays open until the process ends. All processes of a group
 * do it.
 */
void trace_archive_abandon(struct trace_archive *archive);

/* Whether there is room for what libotf2 still has in memory of the file of a thread. If not,
 * closing it may crash. */
bool trace_archive_has_room(const char *directory, uint64_t location);

/* Definitions of threads: mapping tables and clock offsets. Those without a part are empty. */
void trace_archive_open_locals(struct trace_archive *archive);
void trace_archive_write_locals(struct trace_archive *archive, const struct trace_part *part,
                                const struct trace_part_tables *tables);
void trace_archive_write_empty(struct trace_archive *archive, uint64_t location);
void trace_archive_close_locals(struct trace_archive *archive);

/* Closes it. False: it has failed; *problem is a message; NULL: memory is exhausted. */
bool trace_archive_close(struct trace_archive *archive, char **problem);

#endif
