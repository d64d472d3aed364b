/* SPDX-License-Identifier: MIT */
/* See frames.h. */
#define _GNU_SOURCE
#include "profile/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_places(struct profile_frame *places, int count)
{
    for (int i = 0; i < count; i++) {
        free(places[i].module);
        free(places[i].function);
        free(places[i].file);
    }
    free(places);
}

/* Puts them in the place of frame `at`. Returns how many are there now. */
static int replace(struct profile_frame **frames, int *frame_count, int at,
                   struct profile_frame *places, int count)
{
    const struct profile_frame frame = (*frames)[at];
    bool good = true;
    for (int i = 0; i < count; i++) {
        places[i].offset = frame.offset;
        places[i].inlined = i + 1 < count;
        places[i].module = strdup(frame.module);
        good = good && places[i].module;
    }
    struct profile_frame *all =
        good ? realloc(*frames, (size_t)(*frame_count + count - 1) * sizeof *all) : NULL;
    if (!all) {
        free_places(places, count);
        return 1;
    }
    free(frame.module);
    free(frame.file);
    memmove(all + at + count, all + at + 1, (size_t)(*frame_count - at - 1) * sizeof *all);
    memcpy(all + at, places, (size_t)count * sizeof *all);
    free(places);
    *frames = all;
    *frame_count += count - 1;
    return count;
}

static void resolve(const struct profile_result *result, struct profile_frame **frames,
                    int *frame_count, profile_finder *find)
{
    for (int i = 0; i < *frame_count;) {
        const struct profile_frame *frame = &(*frames)[i];
        struct profile_frame *places = NULL;
        const int count = frame->function || !*frame->module ? 0 : find(result, frame, &places);
        i += count ? replace(frames, frame_count, i, places, count) : 1;
    }
}

void profile_frames_resolve(struct profile_result *result, profile_finder *find)
{
    for (size_t i = 0; i < result->callsite_count; i++)
        resolve(result, &result->callsites[i].frames, &result->callsites[i].frame_count, find);
    for (size_t i = 0; i < result->flight_count; i++)
        resolve(result, &result->flights[i].frames, &result->flights[i].frame_count, find);
}

static void put_frame(FILE *stream, const struct profile_frame *frame)
{
    if (frame->function)
        fputs(frame->function, stream);
    else
        fprintf(stream, "%s+0x%llx", frame->module ? frame->module : "",
                (unsigned long long)frame->offset);
    if (frame->file)
        fprintf(stream, " (%s:%d)", frame->file, frame->line);
}

char *profile_frames_describe(const struct profile_frame *frames, int count)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    for (int i = 0; stream && i < count; i++) {
        fputs(i ? " < " : "", stream);
        put_frame(stream, &frames[i]);
    }
    return stream && !fclose(stream) ? text : NULL;
}
