/* SPDX-License-Identifier: MIT */
/* See archive.h. */
#define _GNU_SOURCE
#include "trace/otf2/archive.h"

#include "generate/build.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CREATOR "qmpi"

/* ---- Errors ---------------------------------------------------------------------------------- */

/* libotf2 would print its errors; the first one becomes part of the message. That it could not
 * write the rest of a file when it closed it, it says in no other way. */
static OTF2_ErrorCode note_error(void *data, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode error, const char *format, va_list list)
{
    struct archive *archive = data;
    char *text = NULL;
    (void)file;
    (void)line;
    (void)function;
    if (error == OTF2_SUCCESS || error == OTF2_DEPRECATED || error == OTF2_WARNING)
        return error;
    archive->failed = true;
    if (archive->reason)
        return error;
    if (!format || vasprintf(&text, format, list) < 0)
        text = NULL;
    if (asprintf(&archive->reason, "%s%s%s", OTF2_Error_GetDescription(error),
                 text && *text ? ": " : "", text ? text : "") < 0)
        archive->reason = NULL;
    free(text);
    return error;
}

void archive_check(struct archive *archive, OTF2_ErrorCode error)
{
    if (error == OTF2_SUCCESS)
        return;
    archive->failed = true;
    if (!archive->reason)
        archive->reason = strdup(OTF2_Error_GetDescription(error));
}

/* ---- What is there --------------------------------------------------------------------------- */

static char *make_path(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* Whether libotf2 has said by whom an archive was written, and that was qmpi. */
static bool is_written_by_qmpi(const char *anchor)
{
    struct archive ignored = {.failed = true};
    char *creator = NULL;
    OTF2_ErrorCallback callback = OTF2_Error_RegisterCallback(note_error, &ignored);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    const bool found = reader && OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS &&
                       creator && !strncmp(creator, CREATOR " ", strlen(CREATOR) + 1);
    free(creator);
    if (reader)
        OTF2_Reader_Close(reader);
    OTF2_Error_RegisterCallback(callback, NULL);
    free(ignored.reason);
    return found;
}

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t length = strlen(name), size = strlen(suffix);
    return length > size && !strcmp(name + length - size, suffix);
}

/* An archive that was not completed has no anchor, but the files of which it is made are there. */
static bool has_traces(const char *directory)
{
    bool found = false;
    DIR *files = opendir(directory);
    for (struct dirent *file; files && !found && (file = readdir(files));)
        found = has_suffix(file->d_name, TRACE_FILE_SUFFIX);
    if (files)
        closedir(files);
    return found;
}

/* "7.evt", "7.def" */
static bool is_part(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return digits && (!strcmp(name + digits, ".evt") || !strcmp(name + digits, ".def"));
}

static void remove_parts(const char *directory)
{
    DIR *files = opendir(directory);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (is_part(file->d_name))
            unlinkat(dirfd(files), file->d_name, 0);
    }
    if (files)
        closedir(files);
    rmdir(directory);
}

void archive_remove(const char *directory)
{
    static const char *const names[] = {TRACE_OTF2_ANCHOR, "traces.def"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = make_path(directory, names[i]);
        if (path)
            unlink(path);
        free(path);
    }
    char *parts = make_path(directory, "traces");
    if (parts)
        remove_parts(parts);
    free(parts);
}

bool archive_make_room(const char *directory, char **problem)
{
    char *anchor = make_path(directory, TRACE_OTF2_ANCHOR), *parts = make_path(directory, "traces");
    const bool is_known = anchor && parts;
    const bool has_anchor = is_known && access(anchor, F_OK) == 0;
    *problem = NULL;
    if (!is_known) {
        *problem = strdup("out of memory\nhint: write the archive later, with qmpi trace");
    } else if (!has_anchor && access(parts, F_OK) != 0) {
        ; /* there is none */
    } else if (!(has_anchor ? is_written_by_qmpi(anchor) : has_traces(directory))) {
        *problem = qmpi_message("%s contains an archive that qmpi has not written\n"
                                "hint: name another directory",
                                directory);
    } else {
        archive_remove(directory);
        if (access(parts, F_OK) == 0)
            *problem = qmpi_message("cannot remove the archive that is in %s: %s\n"
                                    "hint: name another directory",
                                    directory, strerror(errno));
    }
    free(anchor);
    free(parts);
    return is_known && !*problem;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* What is in memory is written when the memory is needed. */
static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool is_final)
{
    (void)data;
    (void)type;
    (void)location;
    (void)caller;
    (void)is_final;
    return OTF2_FLUSH;
}

void archive_open(struct archive *archive, const char *directory,
                  const struct trace_otf2_group *group)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    *archive = (struct archive){.group = group, .directory = directory};
    archive->callback = OTF2_Error_RegisterCallback(note_error, archive);
    archive->files = OTF2_Archive_Open(
        directory, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive->files) {
        archive->failed = true;
        return;
    }
    archive_check(archive, OTF2_Archive_SetFlushCallbacks(archive->files, &flush, NULL));
}

bool archive_start(struct archive *archive)
{
    const struct trace_otf2_group *group = archive->group;
    const OTF2_ErrorCode error = group ? archive_set_collectives(archive)
                                       : OTF2_Archive_SetSerialCollectiveCallbacks(archive->files);
    archive_check(archive, error);
    if (error == OTF2_SUCCESS && (!group || !group->rank))
        archive_check(archive, OTF2_Archive_SetCreator(archive->files, CREATOR " " QMPI_VERSION));
    return error == OTF2_SUCCESS;
}

void archive_open_events(struct archive *archive)
{
    if (archive->files)
        archive_check(archive, OTF2_Archive_OpenEvtFiles(archive->files));
}

void archive_close_events(struct archive *archive)
{
    if (archive->files)
        archive_check(archive, OTF2_Archive_CloseEvtFiles(archive->files));
}

void archive_abandon(struct archive *archive)
{
    archive->files = NULL;
}

/* Whether a file may grow so much: `ulimit -f`. */
static bool may_grow(const char *directory, uint64_t location, uint64_t bytes)
{
    struct rlimit limit;
    struct stat status = {.st_size = 0};
    char *path = NULL;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return true;
    if (asprintf(&path, "%s/traces/%" PRIu64 ".evt", directory, location) < 0 ||
        stat(path, &status))
        status.st_size = 0;
    free(path);
    return (uint64_t)status.st_size + bytes <= limit.rlim_cur;
}

bool archive_has_room(const char *directory, uint64_t location)
{
    enum { ROOM = 6 << 20 }; /* a buffer of 4 MiB, and a chunk of 1 MiB */
    struct statvfs status;
    if (!may_grow(directory, location, ROOM))
        return false;
    const int file = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) { /* it knows quotas, too */
        const bool fails = fallocate(file, 0, 0, ROOM) && (errno == ENOSPC || errno == EDQUOT);
        close(file);
        if (fails)
            return false;
    }
    return statvfs(directory, &status) || status.f_bfree >= ROOM / status.f_frsize;
}

bool archive_close(struct archive *archive, char **problem)
{
    if (archive->files)
        archive_check(archive, OTF2_Archive_Close(archive->files));
    OTF2_Error_RegisterCallback(archive->callback, NULL);
    if (archive->failed)
        *problem =
            qmpi_message("cannot write an archive to %s: %s\n"
                         "hint: check that there is room, and that the directory can be "
                         "written",
                         archive->directory, archive->reason ? archive->reason : "out of memory");
    free(archive->reason);
    archive->reason = NULL;
    return !archive->failed;
}

/* ---- Definitions of threads ------------------------------------------------------------------ */

void archive_open_locals(struct archive *archive)
{
    if (archive->files)
        archive_check(archive, OTF2_Archive_OpenDefFiles(archive->files));
}

void archive_close_locals(struct archive *archive)
{
    if (archive->files)
        archive_check(archive, OTF2_Archive_CloseDefFiles(archive->files));
}

static bool is_identity(const uint32_t *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i] != i)
            return false;
    }
    return true;
}

/* A table that changes nothing is left out. */
static void write_table(struct archive *archive, OTF2_DefWriter *writer, OTF2_MappingType type,
                        const uint32_t *table, size_t count)
{
    if (is_identity(table, count))
        return;
    OTF2_IdMap *map = OTF2_IdMap_CreateFromUint32Array(count, table, true);
    archive_check(archive, map ? OTF2_DefWriter_WriteMappingTable(writer, type, map)
                               : OTF2_ERROR_MEM_ALLOC_FAILED);
    OTF2_IdMap_Free(map);
}

/* Times are those of the common clock: they are right as they are, within the bound. */
static void write_offsets(struct archive *archive, OTF2_DefWriter *writer,
                          const struct archive_tables *tables)
{
    const double bound = (double)tables->bound;
    archive_check(archive, OTF2_DefWriter_WriteClockOffset(writer, 0, 0, bound));
    if (tables->length)
        archive_check(archive, OTF2_DefWriter_WriteClockOffset(writer, tables->length, 0, bound));
}

static void write_local(struct archive *archive, uint64_t location,
                        const struct archive_tables *tables)
{
    static const OTF2_MappingType types[ARCHIVE_TABLES] = {
        [ARCHIVE_REGIONS] = OTF2_MAPPING_REGION,
        [ARCHIVE_COMMS] = OTF2_MAPPING_COMM,
        [ARCHIVE_WINDOWS] = OTF2_MAPPING_RMA_WIN,
        [ARCHIVE_FILES] = OTF2_MAPPING_IO_HANDLE,
        [ARCHIVE_METRICS] = OTF2_MAPPING_METRIC,
        [ARCHIVE_PLACES] = OTF2_MAPPING_SOURCE_CODE_LOCATION,
        [ARCHIVE_CONTEXTS] = OTF2_MAPPING_CALLING_CONTEXT};
    OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive->files, location);
    if (!writer) {
        archive->failed = true;
        return;
    }
    for (int i = 0; i < ARCHIVE_TABLES; i++)
        write_table(archive, writer, types[i], tables->all[i], tables->count[i]);
    write_offsets(archive, writer, tables);
    archive_check(archive, OTF2_Archive_CloseDefWriter(archive->files, writer));
}

void archive_write_locals(struct archive *archive, const struct archive_part *part,
                          const struct archive_tables *tables)
{
    const size_t count = archive_thread_count(part);
    for (size_t i = 0; archive->files && i < count; i++)
        write_local(archive, archive_location(part, i), tables);
}

void archive_write_empty(struct archive *archive, uint64_t location)
{
    static const struct archive_tables none;
    if (archive->files)
        write_local(archive, location, &none);
}
