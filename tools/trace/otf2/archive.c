/* SPDX-License-Identifier: MIT */
/* See archive.h. */
#define _GNU_SOURCE
#include "tools/trace/otf2/archive.h"

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

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Records an error for the message. Without this callback, libotf2 would print errors, and it would
 * not be noticed if libotf2 fails to write the rest of a file when it closes this file. */
static OTF2_ErrorCode note_error(void *data, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode error, const char *format, va_list list)
{
    struct trace_archive *archive = data;
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

void trace_archive_check(struct trace_archive *archive, OTF2_ErrorCode error)
{
    if (error == OTF2_SUCCESS)
        return;
    archive->failed = true;
    if (!archive->reason)
        archive->reason = strdup(OTF2_Error_GetDescription(error));
}

/* ---- An earlier archive ---------------------------------------------------------------------- */

static char *make_path(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* Returns whether qmpi has written an archive, as its anchor file says. */
static bool is_written_by_qmpi(const char *anchor)
{
    struct trace_archive ignored = {.failed = true};
    char *creator = NULL;
    OTF2_ErrorCallback callback = OTF2_Error_RegisterCallback(note_error, &ignored);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    const bool found = reader && OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS &&
                       creator &&
                       !strncmp(creator, TRACE_OTF2_CREATOR " ", strlen(TRACE_OTF2_CREATOR) + 1);
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

/* Returns whether a directory contains the files of a trace. Then, an archive without anchor file
 * is one that qmpi has not completed. */
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

/* Returns whether a file with this name contains the events or the definitions of one thread, such
 * as "7.evt" or "7.def". */
static bool is_thread_file(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return digits && (!strcmp(name + digits, ".evt") || !strcmp(name + digits, ".def"));
}

static void remove_thread_files(int directory)
{
    const int threads = openat(directory, "traces", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = threads < 0 ? NULL : fdopendir(threads);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (is_thread_file(file->d_name))
            unlinkat(threads, file->d_name, 0);
    }
    if (files)
        closedir(files);
    else if (threads >= 0)
        close(threads);
    unlinkat(directory, "traces", AT_REMOVEDIR);
}

void trace_archive_remove(const char *directory)
{
    static const char *const names[] = {TRACE_OTF2_ANCHOR, "traces.def"};
    const int opened = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(opened, names[i], 0);
    remove_thread_files(opened);
    close(opened);
}

struct room {
    const char *directory;
    char **problem;
    bool is_free;
};

static void make_room(void *data)
{
    struct room *room = data;
    const char *const directory = room->directory;
    char **const problem = room->problem;
    char *anchor = make_path(directory, TRACE_OTF2_ANCHOR), *parts = make_path(directory, "traces");
    const bool is_known = anchor && parts;
    const bool has_anchor = is_known && access(anchor, F_OK) == 0;
    if (!is_known) {
        *problem = strdup("out of memory\nhint: write the archive later, with qmpi trace");
    } else if (!has_anchor && access(parts, F_OK) != 0) {
        ; /* there is no earlier archive */
    } else if (!(has_anchor ? is_written_by_qmpi(anchor) : has_traces(directory))) {
        *problem = qmpi_message("%s contains an archive that qmpi has not written\n"
                                "hint: name another directory",
                                directory);
    } else {
        trace_archive_remove(directory);
        if (access(parts, F_OK) == 0)
            *problem = qmpi_message("cannot remove the archive that is in %s: %s\n"
                                    "hint: name another directory",
                                    directory, strerror(errno));
    }
    free(anchor);
    free(parts);
    room->is_free = is_known && !*problem;
}

bool trace_archive_make_room(const char *directory, char **problem)
{
    struct room room = {directory, problem, false};
    *problem = NULL;
    return qmpi_memory_catch_exhausted(make_room, &room) && room.is_free;
}

/* ---- Communication of a group of processes --------------------------------------------------- */

static const struct trace_otf2_group *group_of(void *data)
{
    return ((struct trace_archive *)data)->group;
}

static size_t type_size(OTF2_Type type)
{
    switch (type) {
    case OTF2_TYPE_UINT8:
    case OTF2_TYPE_INT8:
        return 1;
    case OTF2_TYPE_UINT16:
    case OTF2_TYPE_INT16:
        return 2;
    case OTF2_TYPE_UINT32:
    case OTF2_TYPE_INT32:
    case OTF2_TYPE_FLOAT:
        return 4;
    default:
        return 8;
    }
}

static OTF2_CallbackCode callback_code(bool good)
{
    return good ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_ERROR;
}

static OTF2_CallbackCode get_group_size(void *data, OTF2_CollectiveContext *context, uint32_t *size)
{
    (void)context;
    *size = (uint32_t)group_of(data)->size;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode get_group_rank(void *data, OTF2_CollectiveContext *context, uint32_t *rank)
{
    (void)context;
    *rank = (uint32_t)group_of(data)->rank;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode group_barrier(void *data, OTF2_CollectiveContext *context)
{
    (void)context;
    return callback_code(group_of(data)->barrier(group_of(data)->context));
}

static OTF2_CallbackCode group_broadcast(void *data, OTF2_CollectiveContext *context, void *values,
                                         uint32_t count, OTF2_Type type, uint32_t root)
{
    (void)context;
    return callback_code(
        root == OTF2_COLLECTIVES_ROOT &&
        group_of(data)->broadcast(group_of(data)->context, values, count * type_size(type)));
}

/* Returns the sizes of the data of all processes in bytes, for the root. Without `counts`, each
 * process has `count` values. Returns NULL if memory is exhausted. */
static size_t *make_sizes(const struct trace_otf2_group *group, const uint32_t *counts,
                          uint32_t count, OTF2_Type type)
{
    size_t *sizes = calloc((size_t)group->size, sizeof *sizes);
    for (int i = 0; sizes && i < group->size; i++)
        sizes[i] = (counts ? counts[i] : count) * type_size(type);
    return sizes;
}

static OTF2_CallbackCode gather_sizes(void *data, const void *values, uint32_t count, void *all,
                                      const uint32_t *counts, OTF2_Type type, uint32_t root)
{
    const struct trace_otf2_group *group = group_of(data);
    const bool is_root = group->rank == OTF2_COLLECTIVES_ROOT;
    size_t *sizes = is_root ? make_sizes(group, counts, count, type) : NULL;
    const bool good =
        root == OTF2_COLLECTIVES_ROOT && (sizes || !is_root) &&
        group->gather(group->context, values, count * type_size(type), is_root ? all : NULL, sizes);
    free(sizes);
    return callback_code(good);
}

static OTF2_CallbackCode group_gather(void *data, OTF2_CollectiveContext *context,
                                      const void *values, void *all, uint32_t count, OTF2_Type type,
                                      uint32_t root)
{
    (void)context;
    return gather_sizes(data, values, count, all, NULL, type, root);
}

static OTF2_CallbackCode group_gatherv(void *data, OTF2_CollectiveContext *context,
                                       const void *values, uint32_t count, void *all,
                                       const uint32_t *counts, OTF2_Type type, uint32_t root)
{
    (void)context;
    return gather_sizes(data, values, count, all, counts, type, root);
}

static OTF2_CallbackCode scatter_sizes(void *data, const void *all, const uint32_t *counts,
                                       void *values, uint32_t count, OTF2_Type type, uint32_t root)
{
    const struct trace_otf2_group *group = group_of(data);
    const bool is_root = group->rank == OTF2_COLLECTIVES_ROOT;
    size_t *sizes = is_root ? make_sizes(group, counts, count, type) : NULL;
    const bool good = root == OTF2_COLLECTIVES_ROOT && (sizes || !is_root) &&
                      group->scatter(group->context, is_root ? all : NULL, sizes, values,
                                     count * type_size(type));
    free(sizes);
    return callback_code(good);
}

static OTF2_CallbackCode group_scatter(void *data, OTF2_CollectiveContext *context, const void *all,
                                       void *values, uint32_t count, OTF2_Type type, uint32_t root)
{
    (void)context;
    return scatter_sizes(data, all, NULL, values, count, type, root);
}

static OTF2_CallbackCode group_scatterv(void *data, OTF2_CollectiveContext *context,
                                        const void *all, const uint32_t *counts, void *values,
                                        uint32_t count, OTF2_Type type, uint32_t root)
{
    (void)context;
    return scatter_sizes(data, all, counts, values, count, type, root);
}

static OTF2_ErrorCode set_group_callbacks(struct trace_archive *archive)
{
    static const OTF2_CollectiveCallbacks callbacks = {.otf2_get_size = get_group_size,
                                                       .otf2_get_rank = get_group_rank,
                                                       .otf2_barrier = group_barrier,
                                                       .otf2_bcast = group_broadcast,
                                                       .otf2_gather = group_gather,
                                                       .otf2_gatherv = group_gatherv,
                                                       .otf2_scatter = group_scatter,
                                                       .otf2_scatterv = group_scatterv};
    /* The functions do not use their context, but NULL would mean that there are no functions. */
    return OTF2_Archive_SetCollectiveCallbacks(archive->files, &callbacks, archive,
                                               (OTF2_CollectiveContext *)(void *)archive, NULL);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Lets libotf2 write its buffered data whenever it needs the memory. */
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

void trace_archive_open(struct trace_archive *archive, const char *directory,
                        const struct trace_otf2_group *group)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    *archive = (struct trace_archive){.group = group, .directory = directory};
    archive->callback = OTF2_Error_RegisterCallback(note_error, archive);
    archive->files = OTF2_Archive_Open(
        directory, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive->files) {
        archive->failed = true;
        return;
    }
    trace_archive_check(archive, OTF2_Archive_SetFlushCallbacks(archive->files, &flush, NULL));
}

bool trace_archive_start(struct trace_archive *archive)
{
    const struct trace_otf2_group *group = archive->group;
    const OTF2_ErrorCode error = group ? set_group_callbacks(archive)
                                       : OTF2_Archive_SetSerialCollectiveCallbacks(archive->files);
    trace_archive_check(archive, error);
    if (error == OTF2_SUCCESS && (!group || !group->rank))
        trace_archive_check(
            archive, OTF2_Archive_SetCreator(archive->files, TRACE_OTF2_CREATOR " " QMPI_VERSION));
    return error == OTF2_SUCCESS;
}

void trace_archive_open_events(struct trace_archive *archive)
{
    if (archive->files)
        trace_archive_check(archive, OTF2_Archive_OpenEvtFiles(archive->files));
}

void trace_archive_close_events(struct trace_archive *archive)
{
    if (archive->files)
        trace_archive_check(archive, OTF2_Archive_CloseEvtFiles(archive->files));
}

void trace_archive_abandon(struct trace_archive *archive)
{
    archive->files = NULL;
}

/* Returns whether the file of a thread may grow by `bytes` bytes within the limit of `ulimit
 * -f`. */
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

bool trace_archive_has_room(const char *directory, uint64_t location)
{
    enum { ROOM = 6 << 20 }; /* a buffer of 4 MiB and a chunk of 1 MiB, rounded up */
    struct statvfs status;
    if (!may_grow(directory, location, ROOM))
        return false;
    const int file = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) { /* fallocate also respects quotas */
        const bool fails = fallocate(file, 0, 0, ROOM) && (errno == ENOSPC || errno == EDQUOT);
        close(file);
        if (fails)
            return false;
    }
    return statvfs(directory, &status) || status.f_bfree >= ROOM / status.f_frsize;
}

struct failure {
    const struct trace_archive *archive;
    char *message;
};

static void describe_failure(void *data)
{
    struct failure *failure = data;
    const struct trace_archive *archive = failure->archive;
    failure->message =
        qmpi_message("cannot write an archive to %s: %s\n"
                     "hint: check that there is room, and that the directory can be written",
                     archive->directory, archive->reason ? archive->reason : "out of memory");
}

bool trace_archive_close(struct trace_archive *archive, char **problem)
{
    struct failure failure = {archive, NULL};
    if (archive->files)
        trace_archive_check(archive, OTF2_Archive_Close(archive->files));
    OTF2_Error_RegisterCallback(archive->callback, NULL);
    if (archive->failed) {
        qmpi_memory_catch_exhausted(describe_failure, &failure);
        *problem = failure.message;
    }
    free(archive->reason);
    archive->reason = NULL;
    return !archive->failed;
}

/* ---- Definitions of threads ------------------------------------------------------------------ */

void trace_archive_open_locals(struct trace_archive *archive)
{
    if (archive->files)
        trace_archive_check(archive, OTF2_Archive_OpenDefFiles(archive->files));
}

void trace_archive_close_locals(struct trace_archive *archive)
{
    if (archive->files)
        trace_archive_check(archive, OTF2_Archive_CloseDefFiles(archive->files));
}

static bool is_identity(const uint32_t *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i] != i)
            return false;
    }
    return true;
}

/* Writes a table, unless it maps all numbers to themselves. */
static void write_table(struct trace_archive *archive, OTF2_DefWriter *writer,
                        OTF2_MappingType type, const uint32_t *table, size_t count)
{
    if (is_identity(table, count))
        return;
    OTF2_IdMap *map = OTF2_IdMap_CreateFromUint32Array(count, table, true);
    trace_archive_check(archive, map ? OTF2_DefWriter_WriteMappingTable(writer, type, map)
                                     : OTF2_ERROR_MEM_ALLOC_FAILED);
    OTF2_IdMap_Free(map);
}

/* Writes clock offsets of 0, because all times are already those of the common clock. Their error
 * is at most the bound. */
static void write_offsets(struct trace_archive *archive, OTF2_DefWriter *writer,
                          const struct trace_part_tables *tables)
{
    const double bound = (double)tables->bound;
    trace_archive_check(archive, OTF2_DefWriter_WriteClockOffset(writer, 0, 0, bound));
    if (tables->length)
        trace_archive_check(archive,
                            OTF2_DefWriter_WriteClockOffset(writer, tables->length, 0, bound));
}

static void write_local(struct trace_archive *archive, uint64_t location,
                        const struct trace_part_tables *tables)
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
    trace_archive_check(archive, OTF2_Archive_CloseDefWriter(archive->files, writer));
}

void trace_archive_write_locals(struct trace_archive *archive, const struct trace_part *part,
                                const struct trace_part_tables *tables)
{
    const size_t count = trace_part_thread_count(part);
    for (size_t i = 0; archive->files && i < count; i++)
        write_local(archive, trace_part_location(part, i), tables);
}

void trace_archive_write_empty(struct trace_archive *archive, uint64_t location)
{
    static const struct trace_part_tables none;
    if (archive->files)
        write_local(archive, location, &none);
}
