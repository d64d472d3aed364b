/* SPDX-License-Identifier: MIT */
/* See objects.h. */
#define _GNU_SOURCE
#include "tools/trace/record/objects.h"

#include "tools/trace/record/recorder.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* ---- Definitions for the writer -------------------------------------------------------------- */

struct record_definition *record_definition_make(enum record_definition_kind kind, uint32_t index)
{
    struct record_definition *definition = calloc(1, sizeof *definition);
    if (definition) {
        definition->kind = kind;
        definition->index = index;
    }
    return definition;
}

void record_definition_queue(struct layer *layer, struct record_definition *definition)
{
    struct record_definition *_Atomic *added = &layer->definitions.added;
    definition->next = atomic_load(added);
    while (!atomic_compare_exchange_weak(added, &definition->next, definition))
        continue;
}

/* Returns the index of a library in the file, and defines the library if it is new. Returns
 * TRACE_NONE if memory is exhausted. Paths are compared as pointers, because QMPIX_Address_find
 * always returns the same string for a library. */
static uint32_t library_index(struct layer_definitions *definitions, struct trace_bytes *out,
                              const char *path)
{
    for (uint32_t i = 0; i < definitions->library_count; i++) {
        if (definitions->libraries[i] == path)
            return i;
    }
    if (!QMPI_MEMORY_RESERVE(definitions->libraries, definitions->library_room,
                             definitions->library_count + 1))
        return TRACE_NONE;
    definitions->libraries[definitions->library_count] = path;
    trace_definitions_put_library(out, definitions->library_count, path);
    return definitions->library_count++;
}

static void put_site(struct layer_definitions *definitions, struct trace_bytes *out,
                     const struct record_definition *definition)
{
    struct trace_frame frames[TRACE_SITE_FRAMES_MAX];
    const struct trace_site site = {frames, definition->site.count};
    for (size_t i = 0; i < site.count; i++) {
        const struct record_definition_frame *frame = &definition->site.frames[i];
        frames[i] =
            (struct trace_frame){library_index(definitions, out, frame->library), frame->offset};
    }
    trace_definitions_put_site(out, definition->index, &site);
}

static void put_definition(struct layer_definitions *definitions, struct trace_bytes *out,
                           struct record_definition *definition)
{
    const uint32_t index = definition->index;
    switch (definition->kind) {
    case DEFINES_COMM:
        trace_definitions_put_comm(out, index, &definition->comm);
        free(definition->comm.name);
        free(definition->comm.group);
        free(definition->comm.remote);
        break;
    case DEFINES_WINDOW:
        trace_definitions_put_window(out, index, &definition->window);
        free(definition->window.name);
        break;
    case DEFINES_FILE:
        trace_definitions_put_file(out, index, &definition->file);
        free(definition->file.name);
        break;
    case DEFINES_REGION:
        trace_definitions_put_region(out, index, &definition->region);
        free(definition->region.name);
        break;
    case DEFINES_COUNTER:
        trace_definitions_put_counter(out, index, &definition->counter);
        free(definition->counter.name);
        free(definition->counter.description);
        free(definition->counter.unit);
        break;
    case DEFINES_SITE:
        put_site(definitions, out, definition);
        return;
    }
    free(definition);
}

void record_definitions_write(struct layer *layer, struct trace_bytes *out)
{
    struct record_definition *last = atomic_exchange(&layer->definitions.added, NULL),
                             *first = NULL;
    while (last) {
        struct record_definition *next = last->next;
        last->next = first;
        first = last;
        last = next;
    }
    while (first) {
        struct record_definition *next = first->next;
        put_definition(&layer->definitions, out, first);
        first = next;
    }
}

/* ---- The world ------------------------------------------------------------------------------- */

void objects_begin(struct layer *layer, MPI_Session session)
{
    MPI_Group group;
    int rank = MPI_UNDEFINED, size = 0;
    if (!tool_world_group(session, &group))
        return;
    PMPI_Group_rank(group, &rank);
    PMPI_Group_size(group, &size);
    layer->rank = rank < 0 ? TRACE_UNDEFINED : rank;
    layer->ranks = size;
    pthread_mutex_lock(&layer->lock);
    MPI_Group old = layer->objects.world;
    layer->objects.world = group;
    pthread_mutex_unlock(&layer->lock);
    if (old != MPI_GROUP_NULL)
        PMPI_Group_free(&old);
}

void objects_end(struct layer *layer)
{
    MPI_Group world = layer->objects.world;
    layer->objects.world = MPI_GROUP_NULL;
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
}

/* ---- Indices --------------------------------------------------------------------------------- */

/* Returns the index of a handle. If *is_new is set, or the handle has no index, assigns a new one.
 * Sets *is_new to whether the index is new. Returns TRACE_NONE if memory is exhausted. */
static uint32_t index_of_handle(struct layer *layer, enum layer_object_kind kind, uint64_t handle,
                                bool *is_new)
{
    struct layer_objects *objects = &layer->objects;
    pthread_mutex_lock(&layer->lock);
    int index = *is_new ? -1 : handles_find(&objects->handles[kind], handle);
    *is_new = index < 0;
    if (*is_new && handles_set(&objects->handles[kind], handle, (int)objects->counts[kind]))
        index = (int)objects->counts[kind]++;
    pthread_mutex_unlock(&layer->lock);
    *is_new &= index >= 0;
    return index < 0 ? TRACE_NONE : (uint32_t)index;
}

/* ---- Communicators --------------------------------------------------------------------------- */

/* Sets *size to the size of a group. Returns the world ranks of its members, by rank in the group;
 * unknown ranks are TRACE_UNDEFINED. Returns NULL if memory is exhausted or MPI does not tell the
 * size. */
static int *find_world_ranks(MPI_Group group, MPI_Group world, int *size)
{
    if (PMPI_Group_size(group, size) != MPI_SUCCESS)
        return NULL;
    int *ranks = malloc(2 * ((size_t)*size + 1) * sizeof *ranks);
    if (!ranks)
        return NULL;
    int *positions = ranks + *size + 1;
    for (int i = 0; i < *size; i++) {
        positions[i] = i;
        ranks[i] = TRACE_UNDEFINED;
    }
    if (world == MPI_GROUP_NULL ||
        PMPI_Group_translate_ranks(group, *size, positions, world, ranks) != MPI_SUCCESS)
        return ranks;
    for (int i = 0; i < *size; i++) {
        if (ranks[i] < 0)
            ranks[i] = TRACE_UNDEFINED;
    }
    return ranks;
}

static void describe_comm(const struct layer *layer, MPI_Comm handle, struct trace_comm *comm)
{
    QMPIX_Comm_identity identity = {.size = sizeof identity};
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Group group;
    int is_inter = 0, length;
    *comm = (struct trace_comm){.rank = TRACE_UNDEFINED};
    if (QMPIX_Comm_get_identity(handle, &identity) == MPI_SUCCESS) {
        comm->id = identity.id;
        comm->parent = identity.parent;
    }
    PMPI_Comm_get_name(handle, name, &length);
    comm->name = strdup(name);
    PMPI_Comm_rank(handle, &comm->rank);
    PMPI_Comm_test_inter(handle, &is_inter);
    if (PMPI_Comm_group(handle, &group) == MPI_SUCCESS) {
        comm->group = find_world_ranks(group, layer->objects.world, &comm->size);
        PMPI_Group_free(&group);
    }
    if (is_inter && PMPI_Comm_remote_group(handle, &group) == MPI_SUCCESS) {
        comm->remote = find_world_ranks(group, layer->objects.world, &comm->remote_size);
        PMPI_Group_free(&group);
    }
}

static void define_comm(struct layer *layer, uint32_t index, MPI_Comm handle)
{
    struct record_definition *definition = record_definition_make(DEFINES_COMM, index);
    if (!definition)
        return;
    describe_comm(layer, handle, &definition->comm);
    record_definition_queue(layer, definition);
}

/* Returns whether MPI has accepted the handles of a call. Otherwise, they may be invalid, and must
 * not be passed to MPI. */
static bool is_checked(const QMPIX_Call *call)
{
    return call->result && traits_of(call)->has_error && argument_result_is_success(call);
}

/* Returns the index of a communicator, and defines it if the index is new. If `is_new` is true, the
 * communicator was just created, so an index that the handle has belongs to an earlier
 * communicator. MPI is called without the lock, and only by the thread that has assigned the index.
 */
static uint32_t define_new_comm(struct recorder *recorder, uint64_t word, MPI_Comm handle,
                                bool is_new)
{
    struct layer *layer = recorder->layer;
    if (handle == MPI_COMM_NULL || recorder->interrupts)
        return TRACE_NONE;
    const uint32_t index = index_of_handle(layer, OBJECT_COMM, word, &is_new);
    if (is_new)
        define_comm(layer, index, handle);
    return index;
}

static uint32_t define_given_comm(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    const MPI_Comm comm = argument_comm(call, argument);
    int world;
    if (!is_checked(call) && QMPIX_Comm_world_rank(comm, 0, &world) != MPI_SUCCESS)
        return TRACE_NONE;
    return define_new_comm(recorder, argument_word(call, argument), comm, false);
}

bool objects_may_ask(const struct recorder *recorder, const QMPIX_Call *call)
{
    return call->result ||
           !atomic_load_explicit(&recorder->layer->asks_early, memory_order_relaxed);
}

uint32_t objects_find_comm(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    struct handles *handles = &recorder->layer->objects.handles[OBJECT_COMM];
    const uint64_t word = argument_word(call, argument), changes = handles_changes(handles);
    const int known = handles_find(handles, word);
    if (known < 0)
        return objects_may_ask(recorder, call) ? define_given_comm(recorder, call, argument)
                                               : TRACE_NONE;
    recorder->comm_word = 0;
    recorder->comm = (uint32_t)known;
    recorder->comm_changes = changes;
    recorder->comm_word = word;
    return (uint32_t)known;
}

void objects_prepare_comm(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    const struct handles *handles = &recorder->layer->objects.handles[OBJECT_COMM];
    if (handles_find(handles, argument_word(call, argument)) < 0)
        define_given_comm(recorder, call, argument);
}

uint32_t objects_create_comm_at(struct recorder *recorder, const QMPIX_Call *call, int argument,
                                const void *handle)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (QMPIX_Call_convert_elements(call, argument, handle, 1, &comm) != MPI_SUCCESS)
        return TRACE_NONE;
    return define_new_comm(recorder, argument_word_at(handle), comm, true);
}

uint32_t objects_create_comm(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    return objects_create_comm_at(recorder, call, argument, argument_address(call, argument));
}

void objects_name_comm(struct recorder *recorder, const QMPIX_Call *call)
{
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_COMM], argument_word(call, 0));
    if (index >= 0)
        define_comm(recorder->layer, (uint32_t)index, argument_comm(call, 0));
}

/* ---- Windows --------------------------------------------------------------------------------- */

static MPI_Win window_argument(const QMPIX_Call *call, int argument)
{
    MPI_Win window = MPI_WIN_NULL;
    QMPIX_Call_get_argument(call, argument, &window);
    return window;
}

static void set_window_comm(struct layer *layer, uint32_t index, uint32_t comm)
{
    struct layer_objects *objects = &layer->objects;
    pthread_mutex_lock(&layer->lock);
    if (QMPI_MEMORY_RESERVE(objects->window_comms, objects->window_room, (size_t)index + 1))
        objects->window_comms[index] = comm + 1; /* 0 if `comm` is TRACE_NONE */
    pthread_mutex_unlock(&layer->lock);
}

static uint32_t get_window_comm(struct layer *layer, uint32_t index)
{
    const struct layer_objects *objects = &layer->objects;
    pthread_mutex_lock(&layer->lock);
    const uint32_t comm =
        index < objects->window_room ? objects->window_comms[index] - 1 : TRACE_NONE;
    pthread_mutex_unlock(&layer->lock);
    return comm;
}

static void define_window(struct layer *layer, uint32_t index, MPI_Win handle, uint32_t comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    struct record_definition *definition = record_definition_make(DEFINES_WINDOW, index);
    if (!definition)
        return;
    PMPI_Win_get_name(handle, name, &length);
    definition->window = (struct trace_window){.name = strdup(name), .comm = comm};
    record_definition_queue(layer, definition);
}

static uint32_t define_new_window(struct recorder *recorder, MPI_Win handle, uint32_t comm,
                                  bool is_new)
{
    if (handle == MPI_WIN_NULL || recorder->interrupts)
        return TRACE_NONE;
    const uint32_t index =
        index_of_handle(recorder->layer, OBJECT_WINDOW, HANDLE_WORD(handle), &is_new);
    if (is_new) {
        set_window_comm(recorder->layer, index, comm);
        define_window(recorder->layer, index, handle, comm);
    }
    return index;
}

uint32_t objects_find_window(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    const MPI_Win window = window_argument(call, argument);
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_WINDOW], HANDLE_WORD(window));
    if (index >= 0)
        return (uint32_t)index;
    return is_checked(call) ? define_new_window(recorder, window, TRACE_NONE, false) : TRACE_NONE;
}

uint32_t objects_create_window(struct recorder *recorder, const QMPIX_Call *call, int argument,
                               int comm)
{
    MPI_Win window = MPI_WIN_NULL;
    QMPIX_Call_get_elements(call, argument, 0, 1, &window);
    return define_new_window(recorder, window,
                             comm < 0 ? TRACE_NONE : objects_find_comm(recorder, call, comm), true);
}

void objects_name_window(struct recorder *recorder, const QMPIX_Call *call)
{
    const MPI_Win window = window_argument(call, 0);
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_WINDOW], HANDLE_WORD(window));
    if (index >= 0)
        define_window(recorder->layer, (uint32_t)index, window,
                      get_window_comm(recorder->layer, (uint32_t)index));
}

/* ---- Files ----------------------------------------------------------------------------------- */

static uint32_t define_new_file(struct recorder *recorder, MPI_File handle, const char *name,
                                uint32_t comm, bool is_new)
{
    if (handle == MPI_FILE_NULL || recorder->interrupts)
        return TRACE_NONE;
    const uint32_t index =
        index_of_handle(recorder->layer, OBJECT_FILE, HANDLE_WORD(handle), &is_new);
    struct record_definition *definition =
        is_new ? record_definition_make(DEFINES_FILE, index) : NULL;
    if (definition) {
        definition->file = (struct trace_file){.name = strdup(name), .comm = comm};
        record_definition_queue(recorder->layer, definition);
    }
    return index;
}

uint32_t objects_find_file(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    const MPI_File file = argument_file(call, argument);
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_FILE], HANDLE_WORD(file));
    return index >= 0 ? (uint32_t)index : define_new_file(recorder, file, "", TRACE_NONE, false);
}

uint32_t objects_open_file(struct recorder *recorder, const QMPIX_Call *call)
{
    enum { COMM = 0, NAME = 1, FILE_HANDLE = 4 };
    return define_new_file(recorder, argument_file_at(call, FILE_HANDLE),
                           argument_address(call, NAME), objects_find_comm(recorder, call, COMM),
                           true);
}

/* ---- Freeing --------------------------------------------------------------------------------- */

static uint64_t freed_handle(const QMPIX_Call *call, enum layer_object_kind kind)
{
    MPI_Win window = MPI_WIN_NULL;
    if (!argument_address(call, 0))
        return 0;
    if (kind == OBJECT_COMM)
        return argument_element_word(call, 0, 0);
    if (kind == OBJECT_WINDOW) {
        QMPIX_Call_get_elements(call, 0, 0, 1, &window);
        return HANDLE_WORD(window);
    }
    const MPI_File file = argument_file_at(call, 0);
    return HANDLE_WORD(file);
}

/* Removes the handle before the call, because MPI may give the same handle to a new object of
 * another thread as soon as it has freed this one. */
void objects_begin_free(struct recorder *recorder, const QMPIX_Call *call, const QMPIX_Word *word,
                        enum layer_object_kind kind)
{
    struct layer *layer = recorder->layer;
    const uint64_t handle = freed_handle(call, kind);
    const int index = handle ? handles_find(&layer->objects.handles[kind], handle) : -1;
    if (index < 0 || recorder->interrupts)
        return;
    handles_add_leaving(&recorder->leavings, &(struct handle_leaving){word, handle, index, kind});
    if (!handles_find_leaving(&recorder->leavings, word))
        return;
    pthread_mutex_lock(&layer->lock);
    handles_remove(&layer->objects.handles[kind], handle);
    pthread_mutex_unlock(&layer->lock);
}

uint32_t objects_end_free(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded)
{
    struct layer *layer = recorder->layer;
    const struct handle_leaving *leaving = handles_find_leaving(&recorder->leavings, word);
    if (!leaving)
        return TRACE_NONE;
    const struct handle_leaving gone = *leaving;
    handles_end_leaving(&recorder->leavings, leaving);
    if (has_succeeded)
        return (uint32_t)gone.number;
    pthread_mutex_lock(&layer->lock);
    handles_set(&layer->objects.handles[gone.kind], gone.handle, gone.number);
    pthread_mutex_unlock(&layer->lock);
    return TRACE_NONE;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

/* The sites that a recorder has found most recently, indexed by a part of their hashes. */
enum { CACHE_BITS = 7 };
struct site_cache {
    const struct site *recent[1 << CACHE_BITS];
};

struct site {
    struct site *next; /* in the bucket */
    uint32_t index;
    atomic_int count; /* -1 after a library with one of the addresses was closed */
    void *callers[];
};

static bool is_site(const struct site *site, void *const *callers, int count)
{
    return atomic_load_explicit(&site->count, memory_order_relaxed) == count &&
           !memcmp(site->callers, callers, (size_t)count * sizeof *callers);
}

static uint64_t hash_callers(void *const *callers, int count)
{
    uint64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum = (sum << 7 | sum >> 57) ^ (uint64_t)(uintptr_t)callers[i];
    return sum * UINT64_C(0x9e3779b97f4a7c15);
}

/* Queues the definition of a site. Finds the libraries now, because they may be closed before the
 * site is written. */
static void define_site(struct layer *layer, const struct site *site)
{
    const int count = atomic_load(&site->count);
    struct record_definition *definition = qmpi_memory_take(sizeof *definition);
    struct record_definition_frame *frames =
        definition ? qmpi_memory_take((size_t)count * sizeof *frames) : NULL;
    if (!frames)
        return;
    *definition = (struct record_definition){.kind = DEFINES_SITE, .index = site->index};
    definition->site.frames = frames;
    for (int i = 0; i < count; i++) {
        struct record_definition_frame *frame = &frames[definition->site.count++];
        *frame = (struct record_definition_frame){"", (size_t)(uintptr_t)site->callers[i]};
        QMPIX_Address_find(site->callers[i], &frame->library, &frame->offset);
    }
    record_definition_queue(layer, definition);
}

static const struct site *find_in_bucket(const struct site *site, void *const *callers, int count)
{
    while (site && !is_site(site, callers, count))
        site = site->next;
    return site;
}

static const struct site *add_call_site(struct layer *layer, struct site *_Atomic *bucket,
                                        void *const *callers, int count)
{
    struct site *site = qmpi_memory_take(sizeof *site + (size_t)count * sizeof *callers);
    if (!site)
        return NULL;
    site->index = atomic_fetch_add(&layer->sites.count, 1);
    atomic_store(&site->count, count);
    memcpy(site->callers, callers, (size_t)count * sizeof *callers);
    define_site(layer, site);
    site->next = atomic_load(bucket);
    do {
        const struct site *known = find_in_bucket(site->next, callers, count);
        if (known)
            return known; /* another thread has added it first */
    } while (!atomic_compare_exchange_weak(bucket, &site->next, site));
    return site;
}

static const struct site *find_call_site(struct recorder *recorder, void *const *callers, int count)
{
    const uint64_t key = hash_callers(callers, count);
    if (!recorder->site_cache)
        recorder->site_cache = qmpi_memory_take(sizeof *recorder->site_cache);
    const struct site **recent =
        recorder->site_cache ? &recorder->site_cache->recent[key >> (64 - CACHE_BITS)] : NULL;
    if (recent && *recent && is_site(*recent, callers, count))
        return *recent;
    struct site *_Atomic *bucket =
        &recorder->layer->sites.buckets[key >> (64 - LAYER_SITE_BUCKET_BITS)];
    const struct site *site = find_in_bucket(atomic_load(bucket), callers, count);
    if (!site)
        site = add_call_site(recorder->layer, bucket, callers, count);
    if (recent)
        *recent = site;
    return site;
}

static void forget_site(struct site *site, const void *begin, const void *end)
{
    const int count = atomic_load(&site->count);
    for (int i = 0; i < count; i++) {
        if ((const void *)site->callers[i] >= begin && (const void *)site->callers[i] < end)
            atomic_store(&site->count, -1);
    }
}

void objects_forget_sites(struct layer *layer, const void *begin, const void *end)
{
    for (size_t i = 0; i < (size_t)1 << LAYER_SITE_BUCKET_BITS; i++) {
        struct site *site = atomic_load(&layer->sites.buckets[i]);
        for (; site; site = site->next)
            forget_site(site, begin, end);
    }
}

uint32_t objects_find_site(struct recorder *recorder, const QMPIX_Call *call)
{
    void *callers[TRACE_SITE_FRAMES_MAX];
    int count = 1;
    const int depth = recorder->layer->options.depth;
    if (depth == 1)
        QMPIX_Call_get_caller(call, callers);
    else
        QMPIX_Call_get_callers(call, depth, callers, &count);
    const struct site *site = find_call_site(recorder, callers, count);
    return site ? site->index : TRACE_NONE;
}
