/* SPDX-License-Identifier: MIT */
/*
 * Call sites of an archive: source code locations, and calling contexts where more than the caller
 * was recorded. Debug information is read here, each address once. A place without it is the
 * library with the offset.
 */
#define _GNU_SOURCE
#include "trace/otf2/plan_parts.h"

#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct archive_frame {
    uint32_t function, file; /* numbers in `texts` */
    uint32_t line;
};

static uint32_t add_text(struct archive_plan *plan, const char *text)
{
    return trace_map_add(&plan->texts, text, strlen(text), NULL);
}

/* A library that was built anew since has other places. */
static bool is_unchanged(const struct archive_plan *plan, const char *library)
{
    struct stat status;
    return stat(library, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtime <= plan->started / 1000000000;
}

static void resolve(struct archive_plan *plan, const char *library, uint64_t offset,
                    struct archive_frame *frame)
{
    QMPIX_Frame *found = NULL;
    const int count = is_unchanged(plan, library) ? symbols_find_in(library, offset, &found) : 0;
    char *address = NULL;
    const char *slash = strrchr(library, '/');
    if (asprintf(&address, "%s+0x%llx", slash ? slash + 1 : library, (unsigned long long)offset) <
        0) {
        plan->failed = true;
        address = NULL;
    } else {
        /* The innermost function: that in which the call is written. */
        const char *function = count > 0 && found[0].function ? found[0].function : address;
        const char *file = count > 0 && found[0].file ? found[0].file : address;
        *frame = (struct archive_frame){add_text(plan, function), add_text(plan, file),
                                        count > 0 && found[0].file ? (uint32_t)found[0].line : 0};
    }
    free(address);
    free(found);
}

static const struct archive_frame *find_frame(struct archive_plan *plan,
                                              const struct trace_process *process,
                                              const struct trace_frame *frame)
{
    const char *library =
        frame->library < process->library_count ? process->libraries[frame->library] : "?";
    const size_t length = strlen(library);
    char *key = malloc(length + sizeof frame->offset);
    plan->failed |= !key;
    if (!key)
        return NULL;
    memcpy(key, &frame->offset, sizeof frame->offset);
    memcpy(key + sizeof frame->offset, library, length);
    bool is_new = false;
    const uint32_t number =
        trace_map_add(&plan->frame_keys, key, length + sizeof frame->offset, &is_new);
    free(key);
    if (number == TRACE_NO_NUMBER)
        return NULL;
    struct archive_frame *frames =
        trace_grow(plan->frames, number, &plan->frame_room, sizeof *frames);
    plan->failed |= !frames;
    if (!frames)
        return NULL;
    plan->frames = frames;
    if (is_new)
        resolve(plan, library, frame->offset, &frames[number]);
    return &frames[number];
}

static uint32_t add_place(struct archive_plan *plan, const struct archive_frame *frame)
{
    const struct archive_place place = {frame->file, frame->line};
    bool is_new = false;
    const uint32_t number = trace_map_add(&plan->place_keys, &place, sizeof place, &is_new);
    if (number == TRACE_NO_NUMBER || !is_new)
        return number;
    struct archive_place *places =
        trace_grow(plan->places, number, &plan->place_room, sizeof *places);
    plan->failed |= !places;
    if (places) {
        plan->places = places;
        places[number] = place;
    }
    return number;
}

static uint32_t add_context(struct archive_plan *plan, const struct archive_frame *frame,
                            uint32_t parent)
{
    if (plan->failed || frame->function == TRACE_NO_NUMBER)
        return TRACE_NO_NUMBER;
    const struct archive_context context = {
        plan_add_region(plan, &(struct archive_region){plan->texts.keys[frame->function].data, "",
                                                       OTF2_REGION_ROLE_FUNCTION,
                                                       OTF2_PARADIGM_SAMPLING}),
        add_place(plan, frame), parent};
    bool is_new = false;
    const uint32_t number = trace_map_add(&plan->context_keys, &context, sizeof context, &is_new);
    if (number == TRACE_NO_NUMBER || !is_new)
        return number;
    struct archive_context *contexts =
        trace_grow(plan->contexts, number, &plan->context_room, sizeof *contexts);
    plan->failed |= !contexts;
    if (contexts) {
        plan->contexts = contexts;
        contexts[number] = context;
    }
    return number;
}

/* The frames of a site: the caller is the first one, and a leaf of the tree of contexts. */
static void add_site(struct archive_plan *plan, const struct trace_process *process,
                     const struct trace_site *site, uint32_t *place, uint32_t *context)
{
    uint32_t parent = TRACE_NO_NUMBER;
    for (size_t i = site->count; i-- > 0 && !plan->failed;) {
        const struct archive_frame *frame = find_frame(plan, process, &site->frames[i]);
        if (!frame)
            return;
        const struct archive_frame known = *frame;
        if (site->count > 1)
            parent = add_context(plan, &known, parent);
        if (i == 0)
            *place = add_place(plan, &known);
    }
    *context = parent == TRACE_NO_NUMBER ? 0 : parent; /* not used then */
}

void plan_add_sites(struct archive_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    struct archive_tables *tables = &plan->tables[part];
    uint32_t *places = plan_table(plan, tables, ARCHIVE_PLACES, process->site_count);
    uint32_t *contexts = plan_table(plan, tables, ARCHIVE_CONTEXTS, process->site_count);
    for (size_t i = 0; places && contexts && i < process->site_count && !plan->failed; i++)
        add_site(plan, process, &process->sites[i], &places[i], &contexts[i]);
}

void plan_free_frames(struct archive_plan *plan)
{
    free(plan->frames);
    plan->frames = NULL;
    symbols_close();
}
