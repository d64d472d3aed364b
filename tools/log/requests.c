/* SPDX-License-Identifier: MIT */
/* See requests.h. */
#include "requests.h"

#include "format.h"
#include "lengths.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdlib.h>

/* The parameter that is a request, or an array of them; -1: none. */
static int find(const QMPIX_Function *function)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == QMPIX_KIND_REQUEST &&
            function->parameters[i].indirection == 1)
            return i;
    }
    return -1;
}

bool requests_are_known(const struct options *options)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (!options->chosen[number] &&
            QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS &&
            find(function) >= 0)
            return false;
    }
    return true;
}

/* Room for so many; false: memory is out. */
static bool make_room(struct frame *frame, int count)
{
    if (count <= frame->request_room)
        return true;
    const int room = count > 2 * frame->request_room ? count : 2 * frame->request_room;
    MPI_Request *requests = qmpi_arena_take((size_t)room * sizeof *requests);
    if (!requests)
        return false;
    frame->requests = requests;
    frame->request_room = room;
    return true;
}

void requests_save(struct frame *frame, const QMPIX_Call *call)
{
    enum { MOST = 1 << 20 };
    const struct shape *shape = shape_of(call->function);
    if (!shape || shape->request < 0 || shape->shown[shape->request].direction == DIRECTION_OUT)
        return;
    const long long count = length_of(frame->layer, call, shape, shape->request);
    const void *given = *(const void *const *)call->arguments[shape->request];
    if (count <= 0 || count > MOST || !given || !make_room(frame, (int)count))
        return;
    /* As they are in the program, at the end of the room; then converted. */
    const size_t size = (size_t)count * call->function->parameters[shape->request].size;
    char *raw = (char *)(frame->requests + count) - size;
    if (tool_safe_copy(raw, given, size) &&
        QMPIX_Call_convert_elements(call, shape->request, raw, (int)count, frame->requests) ==
            MPI_SUCCESS)
        frame->request_count = (int)count;
}

void requests_follow(struct frame *frame, const QMPIX_Call *call)
{
    struct objects *objects = &frame->layer->objects;
    const struct shape *shape = shape_of(call->function);
    if (!shape || shape->request < 0)
        return;
    MPI_Request now;
    for (int i = 0; i < frame->request_count; i++) {
        if (frame->requests[i] != MPI_REQUEST_NULL &&
            QMPIX_Call_get_elements(call, shape->request, i, 1, &now) == MPI_SUCCESS &&
            now == MPI_REQUEST_NULL)
            objects_forget(objects, QMPIX_KIND_REQUEST, &frame->requests[i], sizeof now);
    }
    if (shape->shown[shape->request].direction == DIRECTION_OUT &&
        *(const int *)call->result == MPI_SUCCESS &&
        QMPIX_Call_get_elements(call, shape->request, 0, 1, &now) == MPI_SUCCESS &&
        now != MPI_REQUEST_NULL)
        objects_made(objects, QMPIX_KIND_REQUEST, &now, sizeof now, call->function->name);
}
