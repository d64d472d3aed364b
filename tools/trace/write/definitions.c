/* SPDX-License-Identifier: MIT */
/* See definitions.h. */
#define _GNU_SOURCE
#include "write/definitions.h"

#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct definition *definition_make(enum definition_kind kind, uint32_t index)
{
    struct definition *definition = calloc(1, sizeof *definition);
    if (definition) {
        definition->kind = kind;
        definition->index = index;
    }
    return definition;
}

void definitions_add(struct layer *layer, struct definition *definition)
{
    struct definition *_Atomic *added = &layer->definitions.added;
    definition->next = atomic_load(added);
    while (!atomic_compare_exchange_weak(added, &definition->next, definition))
        continue;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static uint32_t library_index(struct definitions *definitions, struct trace_bytes *records,
                              const char *path)
{
    for (uint32_t i = 0; i < definitions->library_count; i++) {
        if (definitions->libraries[i] == path)
            return i;
    }
    const char **libraries =
        realloc(definitions->libraries, (definitions->library_count + 1) * sizeof *libraries);
    if (!libraries)
        return TRACE_NONE;
    definitions->libraries = libraries;
    libraries[definitions->library_count] = path;
    trace_put_library(records, definitions->library_count, path);
    return definitions->library_count++;
}

static void put_site(struct definitions *definitions, struct trace_bytes *records,
                     const struct definition *definition)
{
    struct trace_frame frames[TRACE_DEPTH_MAX];
    const struct trace_site site = {frames, definition->site.count};
    for (size_t i = 0; i < site.count; i++) {
        const struct definition_frame *frame = &definition->site.frames[i];
        frames[i] = (struct trace_frame){library_index(definitions, records, frame->library),
                                         frame->offset};
    }
    trace_put_site(records, definition->index, &site);
}

static void put(struct definitions *definitions, struct trace_bytes *records,
                struct definition *definition)
{
    const uint32_t index = definition->index;
    switch (definition->kind) {
    case DEFINES_COMM:
        trace_put_comm(records, index, &definition->comm);
        free(definition->comm.name);
        free(definition->comm.group);
        free(definition->comm.remote);
        break;
    case DEFINES_WINDOW:
        trace_put_window(records, index, &definition->window);
        free(definition->window.name);
        break;
    case DEFINES_FILE:
        trace_put_file(records, index, &definition->file);
        free(definition->file.name);
        break;
    case DEFINES_REGION:
        trace_put_region(records, index, &definition->region);
        free(definition->region.name);
        break;
    case DEFINES_COUNTER:
        trace_put_counter(records, index, &definition->counter);
        free(definition->counter.name);
        free(definition->counter.description);
        free(definition->counter.unit);
        break;
    case DEFINES_SITE:
        put_site(definitions, records, definition);
        return;
    }
    free(definition);
}

void definitions_take(struct layer *layer, struct trace_bytes *records)
{
    struct definition *last = atomic_exchange(&layer->definitions.added, NULL), *first = NULL;
    while (last) {
        struct definition *next = last->next;
        last->next = first;
        first = last;
        last = next;
    }
    while (first) {
        struct definition *next = first->next;
        put(&layer->definitions, records, first);
        first = next;
    }
}

static char *group_name(unsigned group)
{
    static char *const names[] = {
        "point-to-point", "completion",   "collective",      "one-sided", "I/O",
        "datatype",       "communicator", "group",           "topology",  "environment",
        "info",           "process",      "tool-information"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (group == 1U << i)
            return names[i];
    }
    return "";
}

uint32_t definitions_function(struct layer *layer, struct trace_bytes *records, int number)
{
    struct definitions *definitions = &layer->definitions;
    const QMPIX_Function *function;
    if (!definitions->functions)
        definitions->functions = calloc(MPI_LAST_FUNC, sizeof *definitions->functions);
    if (!definitions->functions || number >= MPI_LAST_FUNC)
        return TRACE_NONE;
    uint16_t *place = &definitions->functions[number];
    if (*place)
        return *place - 1U;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
        return TRACE_NONE;
    const struct trace_function defined = {.name = (char *)(uintptr_t)function->name,
                                           .group = group_name(function->group),
                                           .number = (uint32_t)number};
    trace_put_function(records, definitions->function_count, &defined);
    *place = (uint16_t)++definitions->function_count;
    return *place - 1U;
}

void definitions_location(struct layer *layer, struct trace_bytes *records, uint32_t location,
                          int64_t thread_id)
{
    char name[32] = "main thread";
    if (thread_id != getpid())
        snprintf(name, sizeof name, "thread %u", location + 1);
    (void)layer;
    trace_put_location(records, location,
                       &(struct trace_location){.name = name, .thread_id = thread_id});
}
