/* SPDX-License-Identifier: MIT */
/* See trace_random.h. */
#define _GNU_SOURCE
#include "trace_random.h"

#include "tools/trace/file/event.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t random_under(uint64_t *state, uint64_t limit)
{
    return random_next(state) % limit;
}

uint64_t random_number(uint64_t *state)
{
    switch (random_under(state, 8)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX - random_under(state, 3);
    case 2:
        return (UINT64_C(1) << 63) - 1 + random_under(state, 3);
    case 3:
        return UINT32_MAX - 1 + random_under(state, 3);
    default:
        return random_next(state) >> random_under(state, 64);
    }
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static char *text(uint64_t *state, const char *kind)
{
    char *made;
    if (asprintf(&made, "%s %llu é", kind, (unsigned long long)random_under(state, 1000)) < 0)
        abort();
    return made;
}

static int *group(uint64_t *state, int size)
{
    int *ranks = malloc((size_t)(size ? size : 1) * sizeof *ranks);
    for (int i = 0; i < size; i++)
        ranks[i] = random_under(state, 10)  ? i + (int)random_under(state, 3)
                   : random_under(state, 2) ? TRACE_UNDEFINED
                                            : (int)random_under(state, INT_MAX);
    return ranks;
}

#define TABLE(name, count)                                                                         \
    process->name = calloc((count) + 1, sizeof *process->name);                                    \
    for (uint32_t i = 0; i < (count); i++)

void random_process(uint64_t *state, struct trace_process *process, uint32_t tables)
{
    *process = (struct trace_process){
        .file = text(state, "file"),
        .run = {random_number(state), random_number(state)},
        .rank = (int)random_under(state, 5),
        .ranks = 5,
        .tool_id = 1,
        .host = text(state, "host"),
        .program = text(state, "program"),
        .mpi = text(state, "mpi"),
        .clock = text(state, "clock"),
        .pid = (int64_t)random_number(state),
        .started = (int64_t)random_number(state),
        .start_ticks = random_number(state),
        .tick = 0.4,
        .end = (enum trace_process_end)random_under(state, 5),
        .end_detail = random_under(state, 2) ? text(state, "detail") : NULL,
        .end_ticks = random_number(state),
        .dropped = random_number(state),
        .unfinished = random_number(state),
        .memory = random_number(state),
        .is_ring = random_under(state, 2),
        .omits = (unsigned)random_under(state, 8),
    };
    process->function_count = process->site_count = process->library_count = tables;
    process->comm_count = process->window_count = process->file_count = tables;
    process->region_count = process->counter_count = process->location_count = tables;
    process->point_count = random_under(state, 4);
    TABLE(functions, tables)
    process->functions[i] =
        (struct trace_function){text(state, "function"), text(state, "group"), i};
    TABLE(libraries, tables)
    process->libraries[i] = text(state, "library");
    TABLE(sites, tables)
    {
        struct trace_site *site = &process->sites[i];
        site->count = random_under(state, 4);
        site->frames = calloc(site->count + 1, sizeof *site->frames);
        for (size_t j = 0; j < site->count; j++)
            site->frames[j] =
                (struct trace_frame){(uint32_t)random_under(state, tables), random_number(state)};
    }
    TABLE(comms, tables)
    {
        const int size = 1 + (int)random_under(state, 9);
        process->comms[i] = (struct trace_comm){.id = random_number(state),
                                                .parent = random_number(state),
                                                .name = text(state, "comm"),
                                                .rank = (int)random_under(state, 7),
                                                .group = group(state, size),
                                                .size = size};
        if (random_under(state, 2)) {
            process->comms[i].remote_size = 1 + (int)random_under(state, 9);
            process->comms[i].remote = group(state, process->comms[i].remote_size);
        }
    }
    TABLE(windows, tables)
    process->windows[i] =
        (struct trace_window){text(state, "window"), (uint32_t)random_under(state, tables)};
    TABLE(files, tables)
    process->files[i] =
        (struct trace_file){text(state, "file"), (uint32_t)random_under(state, tables)};
    TABLE(regions, tables)
    process->regions[i].name = text(state, "region");
    TABLE(counters, tables)
    process->counters[i] = (struct trace_counter){text(state, "counter"), text(state, "about"),
                                                  text(state, "unit"), random_under(state, 2)};
    TABLE(locations, tables)
    process->locations[i] = (struct trace_location){
        text(state, "thread"), (int64_t)random_number(state), random_number(state)};
    TABLE(points, process->point_count)
    process->points[i] = (struct trace_clock_point){
        random_number(state), (int64_t)random_number(state), random_number(state)};
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Sets the members that apply to the kind of an event. */
static void set_members(uint64_t *state, struct trace_event *event, uint32_t tables, bool is_wild,
                        uint64_t *request)
{
    const uint32_t fields = trace_event_fields[event->kind];
    const uint64_t sizes[] = {8, 8, 64, 4096};
#define INDEX(member, field)                                                                       \
    if (fields & TRACE_FIELD_BIT(field))                                                           \
        event->member = (uint32_t)random_under(state, tables);
    INDEX(function, FUNCTION)
    INDEX(site, SITE)
    INDEX(comm, COMM)
    INDEX(object, OBJECT)
#undef INDEX
    if ((fields & TRACE_FIELD_BIT(SITE)) && !random_under(state, 4))
        event->site = TRACE_NONE;
#define NUMBER(member, field, type)                                                                \
    if (fields & TRACE_FIELD_BIT(field))                                                           \
        event->member = is_wild ? (type)random_number(state)                                       \
                                : (type)sizes[random_under(state, sizeof sizes / sizeof *sizes)];
    NUMBER(peer, PEER, int32_t)
    NUMBER(tag, TAG, int32_t)
    NUMBER(root, ROOT, int32_t)
    NUMBER(bytes, BYTES, uint64_t)
    NUMBER(received, RECEIVED, uint64_t)
#undef NUMBER
    if (fields & TRACE_FIELD_BIT(REQUEST))
        event->request = is_wild && !random_under(state, 3) ? random_number(state) : ++*request;
    if (fields & TRACE_FIELD_BIT(VALUE)) {
        const uint64_t bits = random_next(state);
        memcpy(&event->value, &bits, sizeof bits);
        if (event->value != event->value || !is_wild)
            event->value = (double)(bits & 0xff);
    }
}

struct trace_event *random_events(uint64_t *state, size_t count, uint32_t tables, uint64_t ticks,
                                  bool is_wild, size_t *open)
{
    struct trace_event *events = calloc(count + 1, sizeof *events);
    struct {
        uint32_t function, site;
    } stack[8];
    uint64_t request = random_under(state, 100);
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t most = UINT64_MAX - ticks;
        const uint64_t passed = !random_under(state, 4)   ? 0
                                : random_under(state, 99) ? random_under(state, 3000)
                                                          : random_number(state) >> 8;
        ticks += passed < most ? passed : most;
        enum trace_event_kind kind = TRACE_ENTER;
        if (depth)
            kind = depth < 8 && random_under(state, 3)
                       ? (enum trace_event_kind)random_under(state, TRACE_KINDS)
                       : TRACE_LEAVE;
        trace_event_clear(&events[i], kind, ticks);
        if (kind == TRACE_LEAVE || kind == TRACE_INTERRUPTED) {
            depth--;
            events[i].function = stack[depth].function;
            events[i].site = stack[depth].site;
            continue;
        }
        set_members(state, &events[i], tables, is_wild, &request);
        if (kind == TRACE_ENTER) {
            stack[depth].function = events[i].function;
            stack[depth++].site = events[i].site;
        }
    }
    *open = depth;
    return events;
}

bool is_same_event(const struct trace_event *one, const struct trace_event *other)
{
    return one->kind == other->kind && one->ticks == other->ticks &&
           one->location == other->location && one->function == other->function &&
           one->site == other->site && one->comm == other->comm && one->object == other->object &&
           one->peer == other->peer && one->tag == other->tag && one->root == other->root &&
           one->request == other->request && one->bytes == other->bytes &&
           one->received == other->received &&
           !memcmp(&one->value, &other->value, sizeof one->value);
}

/* ---- Files ----------------------------------------------------------------------------------- */

void put_process(struct trace_bytes *out, const struct trace_process *process)
{
    struct trace_bytes packed = {0};
    assert_true(trace_definitions_pack(process, &packed));
    trace_bytes_put(out, packed.data, packed.size);
    trace_bytes_free(&packed);
}

void put_events(struct trace_bytes *out, uint64_t *state, struct trace_event *events, size_t count,
                uint32_t location, uint32_t stream, size_t blocks)
{
    struct trace_event_encoder *encoder =
        trace_event_encoder_make(location, stream, random_under(state, 2));
    for (size_t i = 0; i < count; i++) {
        events[i].location = location;
        assert_true(trace_event_encoder_add(encoder, &events[i]));
        if (random_under(state, count) < blocks)
            assert_true(trace_event_encoder_finish(encoder, out));
    }
    assert_true(trace_event_encoder_finish(encoder, out));
    trace_event_encoder_free(encoder);
}

const char *set_file(const void *bytes, size_t size)
{
    static int descriptor = -1;
    static char path[64];
    if (descriptor < 0) {
        descriptor = memfd_create("trace", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    assert_int_equal(ftruncate(descriptor, 0), 0);
    assert_int_equal(pwrite(descriptor, bytes, size, 0), (ssize_t)size);
    return path;
}

struct trace *open_trace(const char *path)
{
    char *problem = NULL;
    struct trace *trace = trace_reader_open(path, &problem);
    if (!trace)
        fail_msg("%s", problem);
    return trace;
}

struct trace_event *read_events(struct trace_cursor *cursor, size_t *count)
{
    struct trace_event *events = NULL;
    size_t room = 0;
    assert_non_null(cursor);
    for (*count = 0;; ++*count) {
        if (*count == room) {
            room = room ? 2 * room : 64;
            events = realloc(events, room * sizeof *events);
            assert_non_null(events);
        }
        if (!trace_cursor_next(cursor, &events[*count], NULL))
            break;
    }
    trace_cursor_free(cursor);
    return events;
}
