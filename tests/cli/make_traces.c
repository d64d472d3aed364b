/* SPDX-License-Identifier: MIT */
/*
 * make_traces DIRECTORY [KEY=VALUE...]: writes the trace of an invented run, which is always the
 * same for the same options. In each iteration, the ranks exchange messages in a ring, first by
 * nonblocking calls and then by MPI_Sendrecv; each rank except 0 sends one message to rank 0; and
 * all ranks take part in collectives. The options:
 *
 *   ranks, iterations    their numbers
 *   shift, drift         by how many seconds the clock of each rank is ahead of that of the rank
 *                        before, and by how many millionths it is faster
 *   sync                 whether the files tell how the clocks differ: yes, no, or wrong (they tell
 *                        something else)
 *   threads              how many threads each rank has; all but the first call MPI_Iprobe
 *   kill                 the rank whose file ends in a call
 *   off                  the rank that sends a message while recording is off
 *   omits                what each process declares as not recorded: the sum of TRACE_OMITS_…
 *   plant                what is wrong in the trace, one of `plants`
 *   convert              whether each rank also writes its file for Perfetto: yes or no
 *   truth                a file to which all events are written
 */
#define _GNU_SOURCE
#include "tools/trace/export/trace.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK = 64 << 10, MOST_THREADS = 8, LATENCY = 900, FIRST_SECOND = 1000 };

enum function {
    INIT,
    SEND,
    RECV,
    ISEND,
    IRECV,
    WAITALL,
    ALLREDUCE,
    BCAST,
    BARRIER,
    IPROBE,
    FINALIZE,
    REDUCE,
    SENDRECV,
    FUNCTIONS
};
static const struct {
    const char *name, *group;
} functions[FUNCTIONS] = {
    [INIT] = {"MPI_Init", "environment"},
    [SEND] = {"MPI_Send", "point-to-point"},
    [RECV] = {"MPI_Recv", "point-to-point"},
    [ISEND] = {"MPI_Isend", "point-to-point"},
    [IRECV] = {"MPI_Irecv", "point-to-point"},
    [WAITALL] = {"MPI_Waitall", "requests"},
    [ALLREDUCE] = {"MPI_Allreduce", "collective"},
    [BCAST] = {"MPI_Bcast", "collective"},
    [BARRIER] = {"MPI_Barrier", "collective"},
    [IPROBE] = {"MPI_Iprobe", "point-to-point"},
    [FINALIZE] = {"MPI_Finalize", "environment"},
    [REDUCE] = {"MPI_Reduce", "collective"},
    [SENDRECV] = {"MPI_Sendrecv", "point-to-point"},
};

enum plant {
    NOTHING,
    NO_RECEIVE,
    NO_SEND,
    MORE_BYTES,
    OVERTAKEN,
    NO_MEMBER,
    OTHER_FUNCTION,
    OTHER_ROOT,
    LEAVES_EARLY,
    NO_END,
    PLANTS
};
static const char *const plants[PLANTS] = {
    [NOTHING] = "nothing",           [NO_RECEIVE] = "no-receive",
    [NO_SEND] = "no-send",           [MORE_BYTES] = "more-bytes",
    [OVERTAKEN] = "overtaken",       [NO_MEMBER] = "no-member",
    [OTHER_FUNCTION] = "function",   [OTHER_ROOT] = "root",
    [LEAVES_EARLY] = "leaves-early", [NO_END] = "no-end"};

struct rank {
    FILE *file;
    struct trace_event_encoder *encoders[MOST_THREADS];
    int64_t now; /* true nanoseconds */
    uint64_t requests, last;
    struct trace_process process;
};

static struct rank *all;
static int ranks = 4, iterations = 10, threads = 1, killed = -1, off = -1, omits;
static double shift, drift;
static const char *sync_mode = "yes";
static enum plant plant;
static bool converts;
static FILE *truth;
static uint64_t state = 88172645463325252u;

static int64_t noise(int64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)most);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static uint64_t ticks_at(int rank, int64_t now)
{
    return (uint64_t)(FIRST_SECOND * 1000000000ll + now + (int64_t)(shift * 1e9) * rank +
                      (int64_t)((double)now * drift * 1e-6 * rank));
}

static void write_bytes(struct rank *rank, struct trace_bytes *bytes)
{
    if (bytes->failed || fwrite(bytes->data, 1, bytes->size, rank->file) != bytes->size)
        abort();
    bytes->size = 0;
}

static void put(int index, uint32_t thread, struct trace_event *event)
{
    struct rank *rank = &all[index];
    struct trace_bytes bytes = {0};
    event->location = thread;
    event->ticks = ticks_at(index, rank->now);
    rank->last = event->ticks;
    if (!trace_event_encoder_add(rank->encoders[thread], event))
        abort();
    if (trace_event_encoder_size(rank->encoders[thread]) > BLOCK) {
        if (!trace_event_encoder_finish(rank->encoders[thread], &bytes))
            abort();
        write_bytes(rank, &bytes);
        trace_bytes_free(&bytes);
    }
    if (truth)
        fprintf(truth, "%d,%u,%" PRIu64 ",%d,%d,%d,%d,%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRId64 "\n",
                index, thread, event->ticks, (int)event->kind, (int)event->function,
                (int)event->comm, event->peer, event->tag, event->root, event->bytes,
                event->received, event->request == TRACE_NO_REQUEST ? -1 : (int64_t)event->request);
}

static void put_call(int rank, uint32_t thread, enum trace_event_kind kind, enum function function)
{
    struct trace_event event;
    trace_event_clear(&event, kind, 0);
    if (kind == TRACE_ENTER) {
        event.function = function;
        event.site = function == SEND ? 0 : TRACE_NONE;
    }
    put(rank, thread, &event);
}

static void put_message(int rank, enum trace_event_kind kind, int peer, int tag, uint64_t bytes,
                        uint64_t request)
{
    struct trace_event event;
    trace_event_clear(&event, kind, 0);
    event.comm = 0;
    event.peer = peer;
    event.tag = tag;
    event.bytes = bytes;
    event.request = request;
    put(rank, 0, &event);
}

static void put_request(int rank, enum trace_event_kind kind, uint64_t request)
{
    struct trace_event event;
    trace_event_clear(&event, kind, 0);
    event.request = request;
    put(rank, 0, &event);
}

static void put_collective(int rank, enum trace_event_kind kind, int root, uint64_t sent,
                           uint64_t received)
{
    struct trace_event event;
    trace_event_clear(&event, kind, 0);
    event.comm = 0;
    event.root = root;
    event.bytes = sent;
    event.received = received;
    put(rank, 0, &event);
}

static void put_object(int rank, enum trace_event_kind kind, double value)
{
    struct trace_event event;
    trace_event_clear(&event, kind, 0);
    event.object = 0;
    event.value = value;
    put(rank, 0, &event);
}

static void start(int index, const char *directory)
{
    struct rank *rank = &all[index];
    struct trace_bytes bytes = {0}, records = {0};
    const uint64_t run[2] = {0x1234567890abcdef, 42};
    int *group = qmpi_allocate((size_t)ranks, sizeof *group);
    struct trace_frame frame = {0, 0x1139};
    struct trace_site site = {&frame, 1};
    struct trace_region region = {"solve"};
    struct trace_counter counter = {"queue length", "", "", false};
    struct trace_comm comm = {
        .id = 77, .name = "MPI_COMM_WORLD", .rank = index, .group = group, .size = ranks};
    char host[] = "node0";
    host[4] = (char)('0' + index % 2);
    for (int i = 0; i < ranks; i++)
        group[i] = i;
    rank->process = (struct trace_process){.run = {run[0], run[1]},
                                           .rank = index,
                                           .ranks = ranks,
                                           .tool_id = 1,
                                           .host = host,
                                           .program = "heat",
                                           .mpi = "MPICH 4.0.2",
                                           .clock = "tsc",
                                           .pid = 4000 + index / 2,
                                           .started = 1700000000000000000,
                                           .start_ticks = ticks_at(index, 0),
                                           .tick = 1};
    char *path = trace_file_path(directory, index, rank->process.pid, host);
    rank->file = fopen(path, "w");
    if (!rank->file)
        abort();
    trace_definitions_put_header(&bytes, &rank->process);
    trace_definitions_put_world(&records, run, index, ranks, "MPICH 4.0.2");
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        struct trace_function function = {(char *)(uintptr_t)functions[i].name,
                                          (char *)(uintptr_t)functions[i].group, i};
        trace_definitions_put_function(&records, i, &function);
    }
    trace_definitions_put_comm(&records, 0, &comm);
    trace_definitions_put_library(&records, 0, "/none/heat");
    trace_definitions_put_site(&records, 0, &site);
    trace_definitions_put_region(&records, 0, &region);
    trace_definitions_put_counter(&records, 0, &counter);
    for (uint32_t i = 0; i < (uint32_t)threads; i++) {
        char *name = i ? qmpi_format("thread %u", i + 1) : qmpi_copy("main thread");
        struct trace_location location = {name, 5000 + 16 * index + (int)i, 0};
        trace_definitions_put_location(&records, i, &location);
        rank->encoders[i] = trace_event_encoder_make(i, 0, true);
        free(name);
    }
    trace_definitions_put_block(&bytes, &records);
    write_bytes(rank, &bytes);
    trace_bytes_free(&bytes);
    trace_bytes_free(&records);
    free(group);
    free(path);
}

static void finish(int index)
{
    struct rank *rank = &all[index];
    struct trace_bytes bytes = {0}, records = {0};
    const int64_t offset = !strcmp(sync_mode, "wrong") ? (int64_t)(shift * 1e9) * index : 0;
    const struct trace_clock_point points[] = {
        {ticks_at(index, 0), FIRST_SECOND * 1000000000ll + offset, 200},
        {ticks_at(index, rank->now), FIRST_SECOND * 1000000000ll + rank->now + offset, 200}};
    for (int i = 0; i < threads; i++) {
        if (!trace_event_encoder_finish(rank->encoders[i], &bytes))
            abort();
        trace_event_encoder_free(rank->encoders[i]);
    }
    if (strcmp(sync_mode, "no") != 0)
        trace_definitions_put_clock(&records, 1, points, strcmp(sync_mode, "wrong") ? 2 : 1);
    if (index != killed) {
        rank->process.end = TRACE_END_FINALIZE;
        rank->process.end_ticks = rank->last;
        rank->process.omits = (unsigned)omits;
        trace_definitions_put_end(&records, &rank->process);
    }
    trace_definitions_put_block(&bytes, &records);
    write_bytes(rank, &bytes);
    trace_bytes_free(&bytes);
    trace_bytes_free(&records);
    fclose(rank->file);
}

/* ---- The run --------------------------------------------------------------------------------- */

static void call(int rank, enum function function)
{
    all[rank].now += 100 + noise(2000);
    put_call(rank, 0, TRACE_ENTER, function);
}

static void leave(int rank)
{
    put_call(rank, 0, TRACE_LEAVE, 0);
}

static void short_call(int rank, enum function function)
{
    call(rank, function);
    all[rank].now += 50 + noise(300);
    leave(rank);
}

/* Each rank r sends two messages to rank r + 1. It receives two messages from rank r - 1 in the
 * order in which it has posted the receives, but completes the second receive first. */
static void ring(int iteration)
{
    int64_t *sent = qmpi_allocate((size_t)ranks, sizeof *sent);
    uint64_t *first = qmpi_allocate((size_t)ranks, sizeof *first);
    for (int r = 0; r < ranks; r++) {
        const int left = (r + ranks - 1) % ranks, right = (r + 1) % ranks;
        first[r] = all[r].requests;
        for (int i = 0; i < 2; i++) {
            call(r, IRECV);
            put_message(r, TRACE_IRECV_REQUEST, i ? left : TRACE_ANY, 5, 4096, all[r].requests++);
            all[r].now += 80;
            leave(r);
        }
        for (int i = 0; i < 2; i++) {
            call(r, ISEND);
            put_message(r, TRACE_ISEND, right, 5, (uint64_t)(i ? 1000 : 500) + (uint64_t)iteration,
                        all[r].requests++);
            sent[r] = all[r].now;
            all[r].now += 80;
            leave(r);
        }
    }
    for (int r = 0; r < ranks; r++) {
        const int left = (r + ranks - 1) % ranks;
        const bool is_wrong = plant == OVERTAKEN && r == 1 && iteration == 3;
        call(r, WAITALL);
        const int64_t arrival = sent[left] + LATENCY + noise(500);
        all[r].now = all[r].now > arrival ? all[r].now : arrival;
        for (int i = 1; i >= 0; i--)
            put_message(r, TRACE_IRECV, left, 5,
                        (uint64_t)(i != is_wrong ? 1000 : 500) + (uint64_t)iteration,
                        first[r] + (uint64_t)i);
        for (int i = 2; i < 4; i++)
            put_request(r, TRACE_ISEND_COMPLETE, first[r] + (uint64_t)i);
        leave(r);
    }
    free(sent);
    free(first);
}

static void sendrecv(int iteration)
{
    int64_t *sent = qmpi_allocate((size_t)ranks, sizeof *sent);
    for (int r = 0; r < ranks; r++) {
        call(r, SENDRECV);
        put_message(r, TRACE_SEND, (r + 1) % ranks, 6, (uint64_t)iteration, TRACE_NO_REQUEST);
        sent[r] = all[r].now;
    }
    for (int r = 0; r < ranks; r++) {
        const int left = (r + ranks - 1) % ranks;
        const int64_t arrival = sent[left] + LATENCY + noise(500);
        all[r].now = all[r].now > arrival ? all[r].now : arrival;
        put_message(r, TRACE_RECV, left, 6, (uint64_t)iteration, TRACE_NO_REQUEST);
        leave(r);
    }
    free(sent);
}

/* Each rank except 0 sends to rank 0, which receives late. */
static void gather_by_hand(int iteration)
{
    for (int r = ranks - 1; r > 0; r--) {
        call(r, SEND);
        if (r == off && iteration == 4) {
            /* The call that sends the message lies between TRACE_OFF and TRACE_ON. */
            leave(r);
            put_request(r, TRACE_OFF, TRACE_NO_REQUEST);
            put_request(r, TRACE_ON, TRACE_NO_REQUEST);
            call(r, SEND);
        } else if (!(plant == NO_SEND && iteration == 5 && r == 1))
            put_message(r, TRACE_SEND, 0, iteration, 8, TRACE_NO_REQUEST);
        const int64_t sent = all[r].now;
        call(0, RECV);
        all[0].now = all[0].now > sent + LATENCY ? all[0].now : sent + LATENCY + noise(300);
        if (!(plant == NO_RECEIVE && iteration == 4 && r == 1))
            put_message(0, TRACE_RECV, r, iteration,
                        plant == MORE_BYTES && iteration == 2 && r == 1 ? 16 : 8, TRACE_NO_REQUEST);
        leave(0);
        /* In a rendezvous, the send lasts longer than the receive. */
        all[r].now = all[0].now + 50 + noise(100);
        leave(r);
    }
}

static void collective(enum function function, int iteration)
{
    int64_t latest = 0, root_time = 0;
    const int root = function == BCAST ? iteration % ranks : TRACE_UNDEFINED;
    const bool is_planted = iteration == 6;
    for (int r = 0; r < ranks; r++) {
        const bool is_other = is_planted && plant == OTHER_FUNCTION && r == 1;
        const bool is_delayed =
            is_planted && plant == LEAVES_EARLY && r == 1 && function == BARRIER;
        call(r, is_other && function == ALLREDUCE ? REDUCE : function);
        all[r].now += is_delayed ? 50000 : 0;
        if (is_delayed) { /* the rank calls again, after the others have left the collective */
            leave(r);
            call(r, function);
        }
        if (!(is_planted && plant == NO_MEMBER && r == 1 && function == BARRIER))
            put_collective(
                r, TRACE_COLLECTIVE_BEGIN,
                is_planted && plant == OTHER_ROOT && r == 1 && root >= 0 ? root ^ 1 : root, 0, 0);
        if (!is_delayed)
            latest = all[r].now > latest ? all[r].now : latest;
        if (r == root)
            root_time = all[r].now;
    }
    for (int r = 0; r < ranks; r++) {
        const int64_t earliest = (function == BCAST ? root_time : latest) + LATENCY + noise(400);
        all[r].now = all[r].now + 100 > earliest ? all[r].now + 100 : earliest;
        if (!(is_planted && plant == NO_MEMBER && r == 1 && function == BARRIER))
            put_collective(r, TRACE_COLLECTIVE_END, root,
                           function == BARRIER || (root >= 0 && r != root) ? 0 : 64,
                           function == BARRIER || r == root ? 0 : 64);
        leave(r);
    }
}

static void probes(int iteration)
{
    for (int r = 0; r < ranks; r++) {
        for (uint32_t thread = 1; thread < (uint32_t)threads; thread++) {
            all[r].now += 10;
            put_call(r, thread, TRACE_ENTER, IPROBE);
            all[r].now += 40;
            put_call(r, thread, TRACE_LEAVE, 0);
        }
        put_object(r, TRACE_COUNTER, iteration % 7 + 0.5);
    }
}

static void run(void)
{
    for (int r = 0; r < ranks; r++) {
        short_call(r, INIT);
        all[r].now += 100;
    }
    for (int i = 0; i < iterations; i++) {
        for (int r = 0; r < ranks; r++)
            put_object(r, TRACE_REGION_BEGIN, 0);
        ring(i);
        sendrecv(i);
        gather_by_hand(i);
        collective(ALLREDUCE, i);
        collective(BCAST, i);
        for (int r = 0; r < ranks; r++)
            put_object(r, TRACE_REGION_END, 0);
        collective(BARRIER, i);
        probes(i);
    }
    for (int r = 0; r < ranks; r++) {
        if (r != killed && plant != NO_END) {
            short_call(r, FINALIZE);
        } else { /* a call without an end, and a region without an end */
            put_object(r, TRACE_REGION_BEGIN, 0);
            call(r, RECV);
            all[r].now += 5000;
            put_object(r, TRACE_COUNTER, 0);
        }
    }
}

/* ---- The command line ------------------------------------------------------------------------ */

static void set(const char *argument)
{
    const char *value = strchr(argument, '=');
    if (!value)
        exit(2);
    const size_t length = (size_t)(value++ - argument);
    const struct {
        const char *name;
        int *place;
    } numbers[] = {{"ranks", &ranks},     {"iterations", &iterations},
                   {"threads", &threads}, {"kill", &killed},
                   {"off", &off},         {"omits", &omits}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strlen(numbers[i].name) == length && !strncmp(argument, numbers[i].name, length))
            *numbers[i].place = atoi(value);
    }
    if (!strncmp(argument, "shift=", 6))
        shift = atof(value);
    else if (!strncmp(argument, "drift=", 6))
        drift = atof(value);
    else if (!strncmp(argument, "convert=", 8))
        converts = !strcmp(value, "yes");
    else if (!strncmp(argument, "sync=", 5))
        sync_mode = value;
    else if (!strncmp(argument, "truth=", 6))
        truth = fopen(value, "w");
    for (int i = 0; i < PLANTS && !strncmp(argument, "plant=", 6); i++) {
        if (!strcmp(value, plants[i]))
            plant = (enum plant)i;
    }
}

static void convert(const char *directory, int rank)
{
    char *problem = NULL;
    char *source = trace_file_path(directory, rank, 4000 + rank / 2, "node");
    char *target = qmpi_format("%s/rank-%d.perfetto-trace", directory, rank);
    struct trace *trace = trace_reader_open(source, &problem);
    struct trace_view view;
    const struct trace_export export = {&view, NULL, NULL, NULL};
    if (!trace || !trace_view_open(&view, trace, NULL) ||
        !trace_export_perfetto_file(&export, target, &problem)) {
        fprintf(stderr, "%s\n", problem ? problem : "out of memory");
        exit(1);
    }
    trace_view_close(&view);
    trace_reader_close(trace);
    free(source);
    free(target);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 2; i < argc; i++)
        set(argv[i]);
    mkdir(argv[1], 0777);
    all = qmpi_allocate((size_t)ranks, sizeof *all);
    for (int r = 0; r < ranks; r++)
        start(r, argv[1]);
    run();
    for (int r = 0; r < ranks; r++)
        finish(r);
    for (int r = 0; r < ranks && converts; r++)
        convert(argv[1], r);
    free(all);
    return truth && fclose(truth) != 0;
}
