/* SPDX-License-Identifier: MIT */
/* See text_parts.h: tables with places in the program. */
#define _GNU_SOURCE
#include "profile/columns.h"
#include "profile/text_parts.h"
#include "profile/units.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* The end of a long name is left out; files have all of it. */
static void note_frame(struct columns *columns, const struct text *text,
                       const struct profile_frame *frame, bool first)
{
    const char *indent = first ? "    from " : "         ";
    const char *module = *frame->module ? base_name(frame->module) : "?";
    char *place = NULL;
    int length;
    if (frame->file && frame->line > 0)
        length = asprintf(&place, "(%s:%d)%s", base_name(frame->file), frame->line,
                          frame->inlined ? " [inlined]" : "");
    else
        length = asprintf(&place, frame->function ? "(%s+0x%llx)" : "%s+0x%llx", module,
                          (unsigned long long)frame->offset);
    if (length < 0) {
        columns->good = false;
        return;
    }
    const char *function = frame->function ? frame->function : frame->file ? "?" : "";
    const int room = text->width - (int)strlen(indent) - length - 1;
    const bool fits = (int)strlen(function) <= room || room < 4;
    columns_note(columns, "%s%.*s%s%s%s", indent, fits ? INT_MAX : room - 3, function,
                 fits ? "" : "...", *function ? " " : "", place);
    free(place);
}

void text_note_frames(struct columns *columns, const struct text *text,
                      const struct profile_frame *frames, int count)
{
    for (int i = 0; i < count; i++)
        note_frame(columns, text, &frames[i], i == 0);
}

/* ---- Debug information ----------------------------------------------------------------------- */

static bool lacks_line(const struct profile_callsite *site)
{
    return site->frame_count && *site->frames->module && !site->frames->file;
}

/* Says once where the lines are that are missing. */
static void print_hint(const struct text *text, size_t shown)
{
    const char *module = NULL;
    bool several = false;
    for (size_t i = 0; i < shown; i++) {
        const struct profile_callsite *site = &text->result->callsites[i];
        if (!lacks_line(site))
            continue;
        several = several || (module && strcmp(module, site->frames->module) != 0);
        module = module ? module : site->frames->module;
    }
    if (!module)
        return;
    struct columns lines; /* a name may hold anything */
    columns_start(&lines, "l");
    columns_note(&lines, "(no debug information in %s%s:", base_name(module),
                 several ? " and others" : "");
    columns_note(&lines, "compile with -g to see source lines)");
    columns_print(&lines, text->stream, text->width);
}

/* ---- Call sites ------------------------------------------------------------------------------ */

/* The headings in front of and behind the figures, how columns are aligned and which are optional.
 */
static void start_callsites(struct columns *columns, char *align, char *optional)
{
    static const char *const before[] = {"call site", "calls", "time", "%", "per call", NULL};
    static const char *const after[] = {"min",  "on",       "max",        "on",      "ranks",
                                        "sent", "received", "bytes/call", "message", NULL};
    strcpy(align, "lrrrr");
    strcpy(optional, ".....");
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        strcat(align, *profile_figures[i].heading ? "r" : "");
        strcat(optional, *profile_figures[i].heading ? "3" : "");
    }
    strcat(align, "rrrrrrrrr");
    strcat(optional, "22..411..");
    columns_start(columns, align);
    columns_set_optional(columns, optional);
    columns_add_all(columns, before);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        if (*profile_figures[i].heading)
            columns_add(columns, "%s", profile_figures[i].heading);
    }
    columns_add_all(columns, after);
}

static void add_figures(struct columns *columns, const struct profile_calls *calls)
{
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const double value = profile_figure_get(calls, i);
        if (!*profile_figures[i].heading)
            continue;
        if (profile_figures[i].unit == PROFILE_COUNT)
            columns_add(columns, "%.0f", value);
        else
            columns_add(columns, "%s", units_time(value));
    }
}

static void add_callsite(struct columns *columns, const struct text *text,
                         const struct profile_callsite *site)
{
    const struct profile_calls *calls = &site->calls;
    const double count = calls->calls ? (double)calls->calls : 1;
    const double bytes = (double)calls->sent + (double)calls->received;
    columns_add(columns, "%s", site->name);
    columns_add(columns, "%llu", (unsigned long long)calls->calls);
    columns_add(columns, "%s", units_time(calls->time.sum));
    text_add_share_of(columns, text, site->name, calls->time.sum);
    columns_add(columns, "%s", units_time(calls->time.sum / count));
    add_figures(columns, calls);
    text_add_extremes(columns, &calls->time);
    columns_add(columns, "%d", site->ranks);
    columns_add(columns, "%s", units_bytes((double)calls->sent));
    columns_add(columns, "%s", units_bytes((double)calls->received));
    columns_add(columns, "%s", units_bytes(bytes / count));
    columns_add(columns, "%s", site->messages ? units_bytes(bytes / (double)site->messages) : "");
    text_note_frames(columns, text, site->frames, site->frame_count);
}

bool text_callsites(const struct text *text)
{
    char align[COLUMNS_MOST + 1], optional[COLUMNS_MOST + 1];
    const size_t shown = text_shown(text, text->result->callsite_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream, "\nCall sites: time of all ranks, and the most of a rank\n");
    start_callsites(&columns, align, optional);
    for (size_t i = 0; i < shown; i++)
        add_callsite(&columns, text, &text->result->callsites[i]);
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->callsite_count, "call sites");
    print_hint(text, shown);
    return good;
}

/* ---- Calls under way ------------------------------------------------------------------------- */

bool text_flights(const struct text *text)
{
    static const char *const headings[] = {"call", "rank", "so far", "since", "", NULL};
    const size_t shown = text_shown(text, text->result->flight_count);
    struct columns columns;
    if (!shown)
        return true;
    fprintf(text->stream, "\nCalls in flight when the process%s saved\n",
            text->result->ranks == 1 ? " was" : "es were");
    columns_start(&columns, "lrrll");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < shown; i++) {
        const struct profile_flight *it = &text->result->flights[i];
        columns_add(&columns, "%s", it->name);
        columns_add(&columns, "%d", it->rank);
        columns_add(&columns, "%s", units_time(it->time));
        columns_add(&columns, "%s", it->since);
        columns_add(&columns, "%s", it->waits ? "waiting before it" : "");
        text_note_frames(&columns, text, it->frames, it->frame_count);
    }
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, text->result->flight_count, "calls");
    return good;
}

/* ---- Waiting for peers ----------------------------------------------------------------------- */

struct place_wait {
    const struct profile_callsite *site;
    const struct profile_wait *wait;
};

/* The longest first. */
static int compare_waits(const void *a, const void *b)
{
    const struct place_wait *mine = a, *its = b;
    return (mine->wait->time < its->wait->time) - (mine->wait->time > its->wait->time);
}

/* All waits of the result; NULL: memory is exhausted. */
static struct place_wait *list_waits(const struct profile_result *result, size_t *count)
{
    size_t room = 1, listed = 0;
    for (size_t i = 0; i < result->callsite_count; i++)
        room += result->callsites[i].waits.count;
    struct place_wait *all = calloc(room, sizeof *all);
    for (size_t i = 0; all && i < result->callsite_count; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        for (size_t k = 0; k < site->waits.count; k++)
            all[listed++] = (struct place_wait){site, &site->waits.all[k]};
    }
    if (all)
        qsort(all, listed, sizeof *all, compare_waits);
    *count = listed;
    return all;
}

static void add_wait(struct columns *columns, const struct text *text, const struct place_wait *it)
{
    columns_add(columns, "%s", it->site->name);
    columns_add(columns, "%d", it->wait->rank);
    if (it->wait->peer >= 0)
        columns_add(columns, "%d", it->wait->peer);
    else
        columns_add(columns, "?");
    columns_add(columns, "%llu", (unsigned long long)it->wait->calls);
    columns_add(columns, "%s", units_time(it->wait->time));
    text_add_share(columns, text, it->wait->time);
    text_note_frames(columns, text, it->site->frames, it->site->frame_count);
}

bool text_peer_waits(const struct text *text)
{
    static const char *const headings[] = {"call site", "rank", "peer", "calls",
                                           "waiting",   "%",    NULL};
    struct columns columns;
    size_t count;
    struct place_wait *all = list_waits(text->result, &count);
    if (!all || !count) {
        free(all);
        return all != NULL;
    }
    fprintf(text->stream, "\nWaiting for a peer in point-to-point calls\n");
    columns_start(&columns, "lrrrrr");
    columns_add_all(&columns, headings);
    for (size_t i = 0; i < text_shown(text, count); i++)
        add_wait(&columns, text, &all[i]);
    const bool good = columns_print(&columns, text->stream, text->width);
    text_rest(text, count, "waits");
    free(all);
    return good;
}
