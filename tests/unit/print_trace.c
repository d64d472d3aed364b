/* SPDX-License-Identifier: MIT */
/*
 * For test_trace_format.py: `print_trace make SEED FILE` writes a random file. `print_trace print
 * FILE` prints the functions, communicators, locations and events of a file as tools/trace/file
 * reads them, each in a line of its own.
 */
#define _GNU_SOURCE
#include "tools/trace/file/event.h"
#include "trace_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLES 4

static void make(uint64_t seed, const char *path)
{
    uint64_t state = seed;
    struct trace_process process;
    struct trace_bytes out = {0};
    struct trace_clock_point points[] = {{1000, 123456, 10}, {9001000, 4567890, 20}};
    random_process(&state, &process, TABLES);
    struct trace_clock_point *old = process.points;
    process.points = points;
    process.point_count = seed % 3;
    process.start_ticks = 500;
    process.started = 1700000000;
    put_process(&out, &process);
    process.points = old;
    for (uint32_t location = 0; location < TABLES; location++) {
        const size_t count = random_under(&state, seed % 4 ? 300 : 20000);
        size_t open;
        struct trace_event *events =
            random_events(&state, count, TABLES, 1000, (seed + location) % 2, &open);
        put_events(&out, &state, events, count, location, 0, 4);
        free(events);
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(out.data, 1, out.size, file) != out.size || fclose(file))
        exit(1);
    trace_definitions_clear(&process);
    trace_bytes_free(&out);
}

static void print_event(const struct trace_event *event, int64_t base)
{
    const uint32_t fields = trace_event_fields[event->kind];
    printf("%d %" PRIu64 " %" PRId64, (int)event->kind, event->ticks, event->time + base);
    if ((fields & TRACE_FIELD_BIT(FUNCTION)) || event->kind == TRACE_LEAVE ||
        event->kind == TRACE_INTERRUPTED)
        printf(" function=%" PRIu32, event->function);
    if ((fields & TRACE_FIELD_BIT(SITE)) || event->kind == TRACE_LEAVE ||
        event->kind == TRACE_INTERRUPTED)
        printf(" site=%" PRIu32, event->site);
#define PRINT(member, field, format)                                                               \
    if (fields & TRACE_FIELD_BIT(field))                                                           \
        printf(" " #member "=%" format, event->member);
    PRINT(comm, COMM, PRIu32)
    PRINT(object, OBJECT, PRIu32)
    PRINT(peer, PEER, PRId32)
    PRINT(tag, TAG, PRId32)
    PRINT(root, ROOT, PRId32)
    PRINT(bytes, BYTES, PRIu64)
    PRINT(received, RECEIVED, PRIu64)
    PRINT(request, REQUEST, PRIu64)
    PRINT(value, VALUE, "a")
    printf("\n");
}

static void print(const char *path)
{
    struct trace *trace = open_trace(path);
    const struct trace_process *process = &trace->processes[0];
    for (size_t i = 0; i < process->function_count; i++)
        printf("function %s, %s\n", process->functions[i].name, process->functions[i].group);
    for (size_t i = 0; i < process->comm_count; i++) {
        printf("comm %s, %" PRIx64 ":", process->comms[i].name, process->comms[i].id);
        for (int j = 0; j < process->comms[i].size; j++)
            printf(" %d", process->comms[i].group[j]);
        printf("\n");
    }
    for (uint32_t i = 0; i < process->location_count; i++) {
        struct trace_cursor *cursor = trace_cursor_make(trace, 0, i, NULL);
        struct trace_event event;
        printf("location %s\n", process->locations[i].name);
        while (trace_cursor_next(cursor, &event, NULL))
            print_event(&event, trace->base);
        trace_cursor_free(cursor);
    }
    trace_reader_close(trace);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "make"))
        make(strtoull(argv[2], NULL, 10), argv[3]);
    else if (argc == 3 && !strcmp(argv[1], "print"))
        print(argv[2]);
    else
        return 2;
    return 0;
}
