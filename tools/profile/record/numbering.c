/* SPDX-License-Identifier: MIT */
/* See numbering.h. */
#include "record/numbering.h"

#include <stdbool.h>
#include <stdlib.h>

static bool make_room(struct numbering *numbering)
{
    if (numbering->count < numbering->capacity)
        return true;
    const int capacity = numbering->capacity ? 2 * numbering->capacity : 16;
    void **objects = realloc(numbering->objects, (size_t)capacity * sizeof *objects);
    if (objects)
        numbering->objects = objects;
    int *spare = realloc(numbering->spare, (size_t)capacity * sizeof *spare);
    if (spare)
        numbering->spare = spare;
    if (!objects || !spare)
        return false;
    numbering->capacity = capacity;
    return true;
}

int numbering_take(struct numbering *numbering)
{
    if (numbering->spare_count)
        return numbering->spare[--numbering->spare_count];
    if (!make_room(numbering))
        return -1;
    numbering->objects[numbering->count] = NULL;
    return numbering->count++;
}
