/* SPDX-License-Identifier: MIT */
/*
 * See pack.h. What is written and what is read cannot differ: one function for each type does both,
 * and measures.
 */
#define _GNU_SOURCE
#include "collect/pack.h"

#include <stdlib.h>
#include <string.h>

struct wire {
    char *to;         /* writing; NULL: only measuring, or reading */
    const char *from; /* reading */
    size_t size, at;
    bool failed;
};

static void words(struct wire *wire, void *data, size_t size)
{
    if (wire->failed || size > wire->size - wire->at) {
        wire->failed = true;
        return;
    }
    if (wire->from)
        memcpy(data, wire->from + wire->at, size);
    else if (wire->to)
        memcpy(wire->to + wire->at, data, size);
    wire->at += size;
}
#define PUT(wire, value) words(wire, &(value), sizeof(value))

static void string(struct wire *wire, char **text)
{
    enum { NONE = 0 }; /* else the length + 1 */
    uint64_t length = *text && !wire->from ? strlen(*text) + 1 : NONE;
    PUT(wire, length);
    if (wire->failed || length == NONE)
        return;
    if (wire->from) {
        *text = length <= wire->size - wire->at ? calloc(length, 1) : NULL;
        wire->failed = !*text;
    }
    if (!wire->failed)
        words(wire, *text, length - 1);
}

/* Makes room where one is read; counts that cannot be are not believed. */
static bool array(struct wire *wire, void *array_pointer, uint64_t *count, size_t size)
{
    PUT(wire, *count);
    if (!wire->failed && wire->from && *count) {
        void *room = *count <= wire->size - wire->at ? calloc((size_t)*count, size) : NULL;
        wire->failed = !room;
        memcpy(array_pointer, &room, sizeof room);
    }
    if (wire->failed)
        *count = 0;
    return !wire->failed;
}

/* For each element of an array of the result. */
#define ARRAY(wire, pointer, count, put)                                                           \
    do {                                                                                           \
        uint64_t number = (count);                                                                 \
        if (wire->from)                                                                            \
            number = 0;                                                                            \
        if (array(wire, &(pointer), &number, sizeof *(pointer))) {                                 \
            (count) = number;                                                                      \
            for (uint64_t i = 0; i < number; i++)                                                  \
                put(wire, &(pointer)[i]);                                                          \
        }                                                                                          \
    } while (0)

static void put_rank_calls(struct wire *wire, struct profile_rank_calls *calls)
{
    PUT(wire, calls->rank);
    PUT(wire, calls->calls);
    PUT(wire, calls->time);
    PUT(wire, calls->wait);
    PUT(wire, calls->sent);
    PUT(wire, calls->received);
}

static void put_by_rank(struct wire *wire, struct profile_by_rank *by_rank)
{
    ARRAY(wire, by_rank->all, by_rank->count, put_rank_calls);
}

static void put_wait(struct wire *wire, struct profile_wait *wait)
{
    PUT(wire, *wait);
}

static void put_function(struct wire *wire, struct profile_function *function)
{
    string(wire, &function->name);
    string(wire, &function->group);
    PUT(wire, function->ranks);
    PUT(wire, function->calls);
    put_by_rank(wire, &function->by_rank);
    PUT(wire, function->sizes);
    PUT(wire, function->no_bytes);
    PUT(wire, function->times);
}

static void put_frame(struct wire *wire, struct profile_frame *frame)
{
    PUT(wire, frame->offset);
    string(wire, &frame->module);
    string(wire, &frame->function);
    string(wire, &frame->file);
    PUT(wire, frame->line);
    PUT(wire, frame->inlined);
}

static void put_callsite(struct wire *wire, struct profile_callsite *callsite)
{
    size_t count = (size_t)callsite->frame_count;
    string(wire, &callsite->name);
    ARRAY(wire, callsite->frames, count, put_frame);
    callsite->frame_count = callsite->frames ? (int)count : 0;
    PUT(wire, callsite->ranks);
    PUT(wire, callsite->messages);
    PUT(wire, callsite->calls);
    put_by_rank(wire, &callsite->by_rank);
    ARRAY(wire, callsite->waits.all, callsite->waits.count, put_wait);
}

static void put_flight(struct wire *wire, struct profile_flight *flight)
{
    size_t count = (size_t)flight->frame_count;
    string(wire, &flight->name);
    ARRAY(wire, flight->frames, count, put_frame);
    flight->frame_count = flight->frames ? (int)count : 0;
    PUT(wire, flight->rank);
    PUT(wire, flight->time);
    PUT(wire, flight->waits);
    string(wire, &flight->since);
}

static void put_matrix_entry(struct wire *wire, struct profile_matrix_entry *cell)
{
    PUT(wire, *cell);
}

static void put_communicator(struct wire *wire, struct profile_communicator *communicator)
{
    string(wire, &communicator->name);
    PUT(wire, communicator->size);
    PUT(wire, communicator->first);
    PUT(wire, communicator->members);
    PUT(wire, communicator->instances);
    PUT(wire, communicator->calls);
}

static void put_file(struct wire *wire, struct profile_file *file)
{
    string(wire, &file->name);
    PUT(wire, file->opens);
    PUT(wire, file->read);
    PUT(wire, file->written);
    PUT(wire, file->calls);
}

static void put_node(struct wire *wire, struct profile_node *node)
{
    string(wire, &node->host);
    PUT(wire, node->useful);
}

static void put_region(struct wire *wire, struct profile_region *region)
{
    string(wire, &region->name);
    PUT(wire, region->entries);
    PUT(wire, region->time);
    PUT(wire, region->mpi);
    PUT(wire, region->useful);
    PUT(wire, region->path);
    ARRAY(wire, region->nodes, region->node_count, put_node);
    ARRAY(wire, region->functions, region->function_count, put_function);
}

static void put_process(struct wire *wire, struct profile_process *process)
{
    PUT(wire, process->rank);
    string(wire, &process->host);
    PUT(wire, process->application);
    PUT(wire, process->mpi);
    PUT(wire, process->useful);
    PUT(wire, process->path);
    PUT(wire, process->memory);
}

static void put_byte(struct wire *wire, unsigned char *byte)
{
    PUT(wire, *byte);
}

static void put_window_rank(struct wire *wire, struct profile_window_rank *rank)
{
    size_t profiled = rank->profiled ? rank->count : 0;
    PUT(wire, rank->rank);
    PUT(wire, rank->last);
    ARRAY(wire, rank->mpi, rank->count, put_byte);
    ARRAY(wire, rank->profiled, profiled, put_byte);
}

static void put_result(struct wire *wire, struct profile_result *result)
{
    string(wire, &result->program);
    string(wire, &result->mpi);
    string(wire, &result->begin);
    string(wire, &result->termination);
    PUT(wire, result->tool_id);
    PUT(wire, result->ranks);
    PUT(wire, result->rank);
    PUT(wire, result->every_rank);
    PUT(wire, result->application);
    PUT(wire, result->time);
    PUT(wire, result->unfinished_receives);
    ARRAY(wire, result->flights, result->flight_count, put_flight);
    ARRAY(wire, result->processes, result->process_count, put_process);
    ARRAY(wire, result->functions, result->function_count, put_function);
    ARRAY(wire, result->callsites, result->callsite_count, put_callsite);
    ARRAY(wire, result->matrix, result->matrix_entry_count, put_matrix_entry);
    ARRAY(wire, result->communicators, result->communicator_count, put_communicator);
    ARRAY(wire, result->files, result->file_count, put_file);
    ARRAY(wire, result->regions, result->region_count, put_region);
    PUT(wire, result->windows.width);
    ARRAY(wire, result->windows.ranks, result->windows.rank_count, put_window_rank);
}

char *profile_wire_pack(struct profile_result *result, size_t *size)
{
    struct wire measure = {.size = SIZE_MAX};
    put_result(&measure, result);
    struct wire wire = {.to = malloc(measure.at), .size = measure.at};
    if (!wire.to)
        return NULL;
    put_result(&wire, result);
    *size = wire.at;
    return wire.to;
}

struct profile_result *profile_wire_unpack(const char *bytes, size_t size)
{
    struct wire wire = {.from = bytes, .size = size};
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    put_result(&wire, result);
    if (!wire.failed)
        return result;
    profile_result_free(result);
    return NULL;
}
