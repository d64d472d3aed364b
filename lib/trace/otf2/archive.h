/* SPDX-License-Identifier: MIT */
/* An archive that is written: its files, and the errors of libotf2 as messages. */
#ifndef QMPI_TRACE_OTF2_ARCHIVE_H
#define QMPI_TRACE_OTF2_ARCHIVE_H

#include "trace/otf2.h"
#include "trace/otf2/part.h"

#include <otf2/otf2.h>
#include <stdbool.h>

struct archive {
    OTF2_Archive *files;
    const struct trace_otf2_group *group; /* NULL: this process alone writes it */
    const char *directory;
    char *reason; /* of the first error; NULL: none was said */
    bool failed;
    OTF2_ErrorCallback callback; /* that was there before */
};

/* Makes room for an archive in a directory: removes one of qmpi. False: *problem tells why not. */
bool archive_make_room(const char *directory, char **problem);

/* Removes the files of an archive, if they are those of one. */
void archive_remove(const char *directory);

/* Opens an archive for writing. On failure, archive->failed is set. Functions do nothing where
 * archive->files is NULL. The archive must remain where it is. */
void archive_open(struct archive *archive, const char *directory,
                  const struct trace_otf2_group *group);

/* Makes the directories. All processes of a group call it, if it is open in all. They fail
 * together. From then on, all call the same functions, whether or not they have failed. */
bool archive_start(struct archive *archive);

/* Notes an error. */
void archive_check(struct archive *archive, OTF2_ErrorCode error);

void archive_open_events(struct archive *archive);
void archive_close_events(struct archive *archive);

/* Instead of archive_close_events, if events could not be written. libotf2 3.0 would use memory
 * that it has freed: the archive stays open until the process ends. All processes of a group do it.
 */
void archive_abandon(struct archive *archive);

/* Whether there is room for what libotf2 still has in memory of the file of a thread. If not,
 * closing it may crash. */
bool archive_has_room(const char *directory, uint64_t location);

/* Definitions of threads: mapping tables and clock offsets. Those without a part are empty. */
void archive_open_locals(struct archive *archive);
void archive_write_locals(struct archive *archive, const struct archive_part *part,
                          const struct archive_tables *tables);
void archive_write_empty(struct archive *archive, uint64_t location);
void archive_close_locals(struct archive *archive);

/* Closes it. False: it has failed; *problem is a message. */
bool archive_close(struct archive *archive, char **problem);

/* Sets the functions by which the processes of a group communicate. */
OTF2_ErrorCode archive_set_collectives(struct archive *archive);

#endif
