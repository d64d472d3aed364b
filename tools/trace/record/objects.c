/* SPDX-License-Identifier: MIT */
/* See objects.h. */
#define _GNU_SOURCE
#include "record/objects.h"

#include "record/recorder.h"
#include "write/definitions.h"

#include <stdlib.h>
#include <string.h>

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

/* The index of a handle; a new one if `is_new`, or if it has none. Sets is_new if it is one. */
static uint32_t number(struct layer *layer, enum object_kind kind, uint64_t handle, bool *is_new)
{
    struct objects *objects = &layer->objects;
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

/* Ranks in the world, by rank; NULL: not known. */
static int *world_ranks(MPI_Group group, MPI_Group world, int *size)
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
        comm->group = world_ranks(group, layer->objects.world, &comm->size);
        PMPI_Group_free(&group);
    }
    if (is_inter && PMPI_Comm_remote_group(handle, &group) == MPI_SUCCESS) {
        comm->remote = world_ranks(group, layer->objects.world, &comm->remote_size);
        PMPI_Group_free(&group);
    }
}

static void define_comm(struct layer *layer, uint32_t index, MPI_Comm handle)
{
    struct definition *definition = definition_make(DEFINES_COMM, index);
    if (!definition)
        return;
    describe_comm(layer, handle, &definition->comm);
    definitions_add(layer, definition);
}

/* MPI is asked outside of the lock, by the thread that has given the index. */
static uint32_t meet_comm(struct recorder *recorder, uint64_t word, MPI_Comm handle, bool is_new)
{
    struct layer *layer = recorder->layer;
    if (handle == MPI_COMM_NULL || recorder->interrupts)
        return TRACE_NONE;
    const uint32_t index = number(layer, OBJECT_COMM, word, &is_new);
    if (is_new)
        define_comm(layer, index, handle);
    return index;
}

uint32_t objects_find_comm(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    struct handles *handles = &recorder->layer->objects.handles[OBJECT_COMM];
    const uint64_t word = argument_word(call, argument), changes = handles_changes(handles);
    const int known = handles_find(handles, word);
    const uint32_t index = known >= 0
                               ? (uint32_t)known
                               : meet_comm(recorder, word, argument_comm(call, argument), false);
    if (known >= 0) {
        recorder->comm_word = 0;
        recorder->comm = index;
        recorder->comm_changes = changes;
        recorder->comm_word = word;
    }
    return index;
}

uint32_t objects_create_comm_at(struct recorder *recorder, const QMPIX_Call *call, int argument,
                                const void *handle)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (QMPIX_Call_convert_elements(call, argument, handle, 1, &comm) != MPI_SUCCESS)
        return TRACE_NONE;
    return meet_comm(recorder, argument_word_at(handle), comm, true);
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

static MPI_Win window_of(const QMPIX_Call *call, int argument)
{
    MPI_Win window = MPI_WIN_NULL;
    QMPIX_Call_get_argument(call, argument, &window);
    return window;
}

static void save_window_comm(struct layer *layer, uint32_t index, uint32_t comm)
{
    struct objects *objects = &layer->objects;
    pthread_mutex_lock(&layer->lock);
    if (index >= objects->window_room) {
        const uint32_t room = 2 * index + 8;
        uint32_t *comms = realloc(objects->window_comms, room * sizeof *comms);
        for (uint32_t i = objects->window_room; comms && i < room; i++)
            comms[i] = TRACE_NONE;
        objects->window_comms = comms ? comms : objects->window_comms;
        objects->window_room = comms ? room : objects->window_room;
    }
    if (index < objects->window_room)
        objects->window_comms[index] = comm;
    pthread_mutex_unlock(&layer->lock);
}

static uint32_t saved_window_comm(struct layer *layer, uint32_t index)
{
    const struct objects *objects = &layer->objects;
    pthread_mutex_lock(&layer->lock);
    const uint32_t comm = index < objects->window_room ? objects->window_comms[index] : TRACE_NONE;
    pthread_mutex_unlock(&layer->lock);
    return comm;
}

static void define_window(struct layer *layer, uint32_t index, MPI_Win handle, uint32_t comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    struct definition *definition = definition_make(DEFINES_WINDOW, index);
    if (!definition)
        return;
    PMPI_Win_get_name(handle, name, &length);
    definition->window = (struct trace_window){.name = strdup(name), .comm = comm};
    definitions_add(layer, definition);
}

static uint32_t meet_window(struct recorder *recorder, MPI_Win handle, uint32_t comm, bool is_new)
{
    if (handle == MPI_WIN_NULL || recorder->interrupts)
        return TRACE_NONE;
    const uint32_t index = number(recorder->layer, OBJECT_WINDOW, HANDLE_WORD(handle), &is_new);
    if (is_new) {
        save_window_comm(recorder->layer, index, comm);
        define_window(recorder->layer, index, handle, comm);
    }
    return index;
}

uint32_t objects_window(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    const MPI_Win window = window_of(call, argument);
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_WINDOW], HANDLE_WORD(window));
    return index >= 0 ? (uint32_t)index : meet_window(recorder, window, TRACE_NONE, false);
}

uint32_t objects_create_window(struct recorder *recorder, const QMPIX_Call *call, int argument,
                               int comm)
{
    MPI_Win window = MPI_WIN_NULL;
    QMPIX_Call_get_elements(call, argument, 0, 1, &window);
    return meet_window(recorder, window,
                       comm < 0 ? TRACE_NONE : objects_find_comm(recorder, call, comm), true);
}

void objects_name_window(struct recorder *recorder, const QMPIX_Call *call)
{
    const MPI_Win window = window_of(call, 0);
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_WINDOW], HANDLE_WORD(window));
    if (index >= 0)
        define_window(recorder->layer, (uint32_t)index, window,
                      saved_window_comm(recorder->layer, (uint32_t)index));
}

/* ---- Files ----------------------------------------------------------------------------------- */

static uint32_t meet_file(struct recorder *recorder, MPI_File handle, const char *name,
                          uint32_t comm, bool is_new)
{
    if (handle == MPI_FILE_NULL || recorder->interrupts)
        return TRACE_NONE;
    const uint32_t index = number(recorder->layer, OBJECT_FILE, HANDLE_WORD(handle), &is_new);
    struct definition *definition = is_new ? definition_make(DEFINES_FILE, index) : NULL;
    if (definition) {
        definition->file = (struct trace_file){.name = strdup(name), .comm = comm};
        definitions_add(recorder->layer, definition);
    }
    return index;
}

uint32_t objects_file(struct recorder *recorder, const QMPIX_Call *call, int argument)
{
    const MPI_File file = argument_file(call, argument);
    const int index =
        handles_find(&recorder->layer->objects.handles[OBJECT_FILE], HANDLE_WORD(file));
    return index >= 0 ? (uint32_t)index : meet_file(recorder, file, "", TRACE_NONE, false);
}

uint32_t objects_open_file(struct recorder *recorder, const QMPIX_Call *call)
{
    enum { COMM = 0, NAME = 1, FILE_HANDLE = 4 };
    return meet_file(recorder, argument_file_at(call, FILE_HANDLE), argument_address(call, NAME),
                     objects_find_comm(recorder, call, COMM), true);
}

/* ---- What is given back ---------------------------------------------------------------------- */

static uint64_t word_of(const QMPIX_Call *call, enum object_kind kind)
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

/* Before the call: as soon as MPI has freed it, its handle may be another one's. */
void objects_begin_free(struct recorder *recorder, const QMPIX_Call *call, const QMPIX_Word *word,
                        enum object_kind kind)
{
    struct layer *layer = recorder->layer;
    const uint64_t handle = word_of(call, kind);
    const int index = handle ? handles_find(&layer->objects.handles[kind], handle) : -1;
    if (index < 0 || recorder->interrupts)
        return;
    leavings_add(&recorder->leavings, &(struct leaving){word, handle, index, kind});
    if (!leavings_find(&recorder->leavings, word))
        return;
    pthread_mutex_lock(&layer->lock);
    handles_remove(&layer->objects.handles[kind], handle);
    pthread_mutex_unlock(&layer->lock);
}

uint32_t objects_end_free(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded)
{
    struct layer *layer = recorder->layer;
    const struct leaving *leaving = leavings_find(&recorder->leavings, word);
    if (!leaving)
        return TRACE_NONE;
    const struct leaving gone = *leaving;
    leavings_end(&recorder->leavings, leaving);
    if (has_succeeded)
        return (uint32_t)gone.number;
    pthread_mutex_lock(&layer->lock);
    handles_set(&layer->objects.handles[gone.kind], gone.handle, gone.number);
    pthread_mutex_unlock(&layer->lock);
    return TRACE_NONE;
}
