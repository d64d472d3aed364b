/* SPDX-License-Identifier: MIT */
/*
 * Writes traces from a description or at random, and archives of traces:
 *
 *   make_trace files DIRECTORY < DESCRIPTION      writes the files of the described processes
 *   make_trace random DIRECTORY SEED              writes the files of a random run
 *   make_trace write MODULE PATH DIRECTORY        writes an archive of a trace, in one process
 *   make_trace vanish MODULE FILE DIRECTORY       does the same from the second microsecond on, for
 *                                                 a file that it removes when the file was opened
 *   make_trace together MODULE DIRECTORY FILE...  writes an archive, in one process for each FILE
 *
 * MODULE is the path of TRACE_OTF2_FILE. A FILE `-` stands for a process without a file. Each line
 * of the description has words that are separated by tabs: first its kind, then members as
 * NAME=VALUE. A line `process` begins a process, whose definitions follow in the order of their
 * indices. The kind of an event is its name in enum trace_event_kind without TRACE_. If an archive
 * cannot be written, the problem goes to stderr, and the status is 1, or 3 if only some of the
 * processes have failed.
 */
#define _GNU_SOURCE
#include "tools/trace/export/trace.h"
#include "trace_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof *(ARRAY))

static _Noreturn void stop_with(const char *what)
{
    fprintf(stderr, "make_trace: %s\n", what);
    exit(2);
}

/* ---- A description --------------------------------------------------------------------------- */

static const char *const kinds[TRACE_KINDS] = {
    [TRACE_ENTER] = "ENTER",
    [TRACE_LEAVE] = "LEAVE",
    [TRACE_SEND] = "SEND",
    [TRACE_RECV] = "RECV",
    [TRACE_ISEND] = "ISEND",
    [TRACE_ISEND_COMPLETE] = "ISEND_COMPLETE",
    [TRACE_IRECV_REQUEST] = "IRECV_REQUEST",
    [TRACE_IRECV] = "IRECV",
    [TRACE_REQUEST_TEST] = "REQUEST_TEST",
    [TRACE_REQUEST_CANCELLED] = "REQUEST_CANCELLED",
    [TRACE_REQUEST_FREED] = "REQUEST_FREED",
    [TRACE_COLLECTIVE_BEGIN] = "COLLECTIVE_BEGIN",
    [TRACE_COLLECTIVE_END] = "COLLECTIVE_END",
    [TRACE_ICOLLECTIVE_REQUEST] = "ICOLLECTIVE_REQUEST",
    [TRACE_ICOLLECTIVE_COMPLETE] = "ICOLLECTIVE_COMPLETE",
    [TRACE_RMA_PUT] = "RMA_PUT",
    [TRACE_RMA_GET] = "RMA_GET",
    [TRACE_RMA_ATOMIC] = "RMA_ATOMIC",
    [TRACE_RMA_COMPLETE] = "RMA_COMPLETE",
    [TRACE_IO_REQUEST] = "IO_REQUEST",
    [TRACE_IO] = "IO",
    [TRACE_COMM_CREATE] = "COMM_CREATE",
    [TRACE_COMM_DESTROY] = "COMM_DESTROY",
    [TRACE_WIN_CREATE] = "WIN_CREATE",
    [TRACE_WIN_DESTROY] = "WIN_DESTROY",
    [TRACE_FILE_OPEN] = "FILE_OPEN",
    [TRACE_FILE_CLOSE] = "FILE_CLOSE",
    [TRACE_REGION_BEGIN] = "REGION_BEGIN",
    [TRACE_REGION_END] = "REGION_END",
    [TRACE_COUNTER] = "COUNTER",
    [TRACE_OFF] = "OFF",
    [TRACE_ON] = "ON",
    [TRACE_DROPPED] = "DROPPED",
    [TRACE_FLUSH] = "FLUSH",
    [TRACE_INTERRUPTED] = "INTERRUPTED",
    [TRACE_CALL_OBJECT] = "CALL_OBJECT",
};

enum { MOST = 64, TABLES = 5 };
struct made {
    bool is_made;
    struct trace_process process; /* each array has room for MOST elements */
    struct trace_event_encoder *encoders[MOST];
};

/* Returns the value of a member in a line, or NULL if the line does not have this member. */
static char *word_of(char **words, const char *name)
{
    const size_t length = strlen(name);
    for (; *words; words++) {
        if (!strncmp(*words, name, length) && (*words)[length] == '=')
            return *words + length + 1;
    }
    return NULL;
}

static long long number_of(char **words, const char *name, long long otherwise)
{
    const char *word = word_of(words, name);
    return word ? strtoll(word, NULL, 0) : otherwise;
}

static char *text_of(char **words, const char *name, const char *otherwise)
{
    const char *word = word_of(words, name);
    return strdup(word ? word : otherwise);
}

/* Returns the ranks in a member such as "0,1,2", or NULL if the line does not have this member. */
static int *ranks_of(char **words, const char *name, int *count)
{
    char *word = word_of(words, name);
    int *ranks = word ? calloc(MOST, sizeof *ranks) : NULL;
    *count = 0;
    for (char *end = word; word && *word; word = *end ? end + 1 : end)
        ranks[(*count)++] = (int)strtol(word, &end, 10);
    return ranks;
}

static void add_comm(struct made *it, char **words)
{
    struct trace_comm *comm = &it->process.comms[it->process.comm_count++];
    *comm = (struct trace_comm){.id = (uint64_t)number_of(words, "id", 0),
                                .parent = (uint64_t)number_of(words, "parent", 0),
                                .name = text_of(words, "name", ""),
                                .rank = (int)number_of(words, "rank", TRACE_UNDEFINED)};
    comm->group = ranks_of(words, "group", &comm->size);
    comm->remote = ranks_of(words, "remote", &comm->remote_size);
}

/* Adds a site with frames such as "0:16,1:32": the index of a library, and an offset. */
static void add_site(struct made *it, char **words)
{
    struct trace_site *site = &it->process.sites[it->process.site_count++];
    char *word = word_of(words, "frames");
    *site = (struct trace_site){calloc(MOST, sizeof *site->frames), 0};
    for (char *end = word; word && *word; word = *end ? end + 1 : end) {
        struct trace_frame *frame = &site->frames[site->count++];
        frame->library = (uint32_t)strtoul(word, &end, 10);
        frame->offset = strtoull(end + 1, &end, 10);
    }
}

static void add_definition(struct made *it, char **words)
{
    struct trace_process *process = &it->process;
    if (!strcmp(*words, "function"))
        process->functions[process->function_count++] =
            (struct trace_function){text_of(words, "name", "?"), text_of(words, "group", ""), 0};
    else if (!strcmp(*words, "comm"))
        add_comm(it, words);
    else if (!strcmp(*words, "window"))
        process->windows[process->window_count++] = (struct trace_window){
            text_of(words, "name", ""), (uint32_t)number_of(words, "comm", TRACE_NONE)};
    else if (!strcmp(*words, "file"))
        process->files[process->file_count++] = (struct trace_file){
            text_of(words, "name", ""), (uint32_t)number_of(words, "comm", TRACE_NONE)};
    else if (!strcmp(*words, "region"))
        process->regions[process->region_count++].name = text_of(words, "name", "?");
    else if (!strcmp(*words, "counter"))
        process->counters[process->counter_count++] =
            (struct trace_counter){text_of(words, "name", "?"), text_of(words, "description", ""),
                                   text_of(words, "unit", ""), number_of(words, "accumulates", 0)};
    else if (!strcmp(*words, "location"))
        process->locations[process->location_count++].name = text_of(words, "name", "main thread");
    else if (!strcmp(*words, "library"))
        process->libraries[process->library_count++] = text_of(words, "path", "");
    else if (!strcmp(*words, "site"))
        add_site(it, words);
    else if (!strcmp(*words, "point"))
        process->points[process->point_count++] = (struct trace_clock_point){
            (uint64_t)number_of(words, "ticks", 0), number_of(words, "world", 0),
            (uint64_t)number_of(words, "bound", 0)};
    else
        stop_with(*words);
}

static void begin_process(struct made *it, char **words)
{
    *it = (struct made){.is_made = true};
    it->process = (struct trace_process){
        .run = {1, 2},
        .rank = (int)number_of(words, "rank", TRACE_UNDEFINED),
        .ranks = (int)number_of(words, "ranks", 0),
        .host = text_of(words, "host", "host"),
        .program = text_of(words, "program", "/bin/program"),
        .mpi = strdup("MPI"),
        .clock = strdup("tsc"),
        .pid = number_of(words, "pid", 1),
        .started = number_of(words, "started", 1700000000000000000),
        .start_ticks = (uint64_t)number_of(words, "start", 0),
        .tick = (double)number_of(words, "tick", 1),
        .functions = calloc(MOST, sizeof(struct trace_function)),
        .sites = calloc(MOST, sizeof(struct trace_site)),
        .libraries = calloc(MOST, sizeof(char *)),
        .comms = calloc(MOST, sizeof(struct trace_comm)),
        .windows = calloc(MOST, sizeof(struct trace_window)),
        .files = calloc(MOST, sizeof(struct trace_file)),
        .regions = calloc(MOST, sizeof(struct trace_region)),
        .counters = calloc(MOST, sizeof(struct trace_counter)),
        .locations = calloc(MOST, sizeof(struct trace_location)),
        .points = calloc(MOST, sizeof(struct trace_clock_point)),
        .end = (enum trace_process_end)number_of(words, "end", TRACE_END_FINALIZE),
        .end_detail = word_of(words, "detail") ? text_of(words, "detail", "") : NULL,
        .end_ticks = (uint64_t)number_of(words, "ticks", 0),
        .dropped = (uint64_t)number_of(words, "dropped", 0)};
}

static bool add_event(struct made *it, char **words)
{
    int kind = 0;
    while (kind < TRACE_KINDS && strcmp(kinds[kind], *words) != 0)
        kind++;
    if (kind == TRACE_KINDS)
        return false;
    struct trace_event event;
    const size_t location = (size_t)number_of(words, "location", 0);
    const char *value = word_of(words, "value");
    trace_event_clear(&event, (enum trace_event_kind)kind, (uint64_t)number_of(words, "t", 0));
    event.location = (uint32_t)location;
    event.function = (uint32_t)number_of(words, "function", event.function);
    event.site = (uint32_t)number_of(words, "site", event.site);
    event.comm = (uint32_t)number_of(words, "comm", event.comm);
    event.object = (uint32_t)number_of(words, "object", event.object);
    event.peer = (int32_t)number_of(words, "peer", event.peer);
    event.tag = (int32_t)number_of(words, "tag", event.tag);
    event.root = (int32_t)number_of(words, "root", event.root);
    event.request = (uint64_t)number_of(words, "request", (long long)event.request);
    event.bytes = (uint64_t)number_of(words, "bytes", 0);
    event.received = (uint64_t)number_of(words, "received", 0);
    event.value = value ? strtod(value, NULL) : 0;
    if (!it->encoders[location])
        it->encoders[location] = trace_event_encoder_make((uint32_t)location, 0, true);
    if (!trace_event_encoder_add(it->encoders[location], &event))
        stop_with("out of memory");
    return true;
}

static void end_process(struct made *it, const char *directory)
{
    struct trace_bytes bytes = {0};
    if (!it->is_made)
        return;
    if (!trace_definitions_pack(&it->process, &bytes))
        stop_with("out of memory");
    for (size_t i = 0; i < MOST; i++) {
        if (it->encoders[i] && !trace_event_encoder_finish(it->encoders[i], &bytes))
            stop_with("out of memory");
        if (it->encoders[i])
            trace_event_encoder_free(it->encoders[i]);
    }
    char *path = trace_file_path(directory, it->process.rank, it->process.pid, it->process.host);
    FILE *file = path ? fopen(path, "wb") : NULL;
    if (!file || fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file))
        stop_with("cannot write a file");
    free(path);
    trace_bytes_free(&bytes);
    trace_definitions_clear(&it->process);
    it->is_made = false;
}

static void make_files(const char *directory)
{
    static struct made made;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        char *words[MOST], *rest = line;
        size_t count = 0;
        line[strcspn(line, "\n")] = 0;
        for (char *word; count < MOST - 1 && (word = strsep(&rest, "\t"));)
            words[count++] = word;
        words[count] = NULL;
        if (!**words)
            continue;
        if (!strcmp(*words, "process")) {
            end_process(&made, directory);
            begin_process(&made, words);
        } else if (!add_event(&made, words)) {
            add_definition(&made, words);
        }
    }
    end_process(&made, directory);
    free(line);
}

/* ---- Random traces --------------------------------------------------------------------------- */

static void put_random(struct trace_bytes *bytes, uint64_t *state, uint32_t location, bool is_wild)
{
    const size_t count = random_under(state, 400);
    size_t open;
    struct trace_event *events =
        random_events(state, count, TABLES, random_under(state, 1 << 20), is_wild, &open);
    struct trace_event_encoder *encoder = trace_event_encoder_make(location, 0, true);
    for (size_t i = 0; i < count; i++) {
        events[i].location = location;
        if (!trace_event_encoder_add(encoder, &events[i]))
            stop_with("out of memory");
    }
    if (!trace_event_encoder_finish(encoder, bytes))
        stop_with("out of memory");
    trace_event_encoder_free(encoder);
    free(events);
}

static void make_random(const char *directory, uint64_t seed)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    const int count = 1 + (int)random_under(&state, 3);
    for (int i = 0; i < count; i++) {
        struct trace_process process;
        struct trace_bytes bytes = {0};
        random_process(&state, &process, TABLES);
        process.run[0] = process.run[1] = seed;
        process.rank = i;
        if (!trace_definitions_pack(&process, &bytes))
            stop_with("out of memory");
        for (uint32_t k = 0; k < 2; k++)
            put_random(&bytes, &state, k, seed % 2);
        char *path = trace_file_path(directory, i, i, "host");
        FILE *file = path ? fopen(path, "wb") : NULL;
        if (!file || fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file))
            stop_with("cannot write a file");
        free(path);
        trace_bytes_free(&bytes);
        trace_definitions_clear(&process);
    }
}

/* ---- Archives -------------------------------------------------------------------------------- */

static const struct trace_otf2 *open_module(const char *path)
{
    char *problem;
    const struct trace_otf2 *otf2 = trace_otf2_open(path, &problem);
    if (!otf2) {
        fprintf(stderr, "%s\n", problem);
        exit(1);
    }
    return otf2;
}

static int report(bool good, char *problem)
{
    if (problem)
        fprintf(stderr, "%s\n", problem);
    free(problem);
    return good ? 0 : 1;
}

static int write_alone(const char *module, const char *path, const char *directory)
{
    const struct trace_otf2 *otf2 = open_module(module);
    char *problem;
    struct trace *trace = trace_reader_open(path, &problem);
    if (!trace)
        return report(false, problem);
    const bool good = otf2->write(trace, directory, NULL, &problem);
    trace_reader_close(trace);
    return report(good, problem);
}

static int write_vanished(const char *module, const char *path, const char *directory)
{
    const struct trace_otf2 *otf2 = open_module(module);
    const struct trace_cursor_selection late = {.has_begin = true, .begin = 1000};
    char *problem;
    struct trace *trace = trace_reader_open(path, &problem);
    if (!trace)
        return report(false, problem);
    unlink(path);
    const bool good = otf2->write(trace, directory, &late, &problem);
    trace_reader_close(trace);
    return report(good, problem);
}

/* The connections of a process. Each process has a socket to the root, which is rank 0. */
struct network {
    int rank, size;
    int sockets[MOST]; /* in the root: [rank]; in other processes: [0] */
};

static bool put(int socket, const void *data, size_t size)
{
    for (const char *next = data; size > 0;) {
        const ssize_t count = write(socket, next, size);
        if (count <= 0)
            return false;
        next += count;
        size -= (size_t)count;
    }
    return true;
}

static bool get(int socket, void *data, size_t size)
{
    for (char *next = data; size > 0;) {
        const ssize_t count = read(socket, next, size);
        if (count <= 0)
            return false;
        next += count;
        size -= (size_t)count;
    }
    return true;
}

static bool broadcast(void *context, void *data, size_t size)
{
    const struct network *network = context;
    bool good = true;
    if (network->rank)
        return get(network->sockets[0], data, size);
    for (int i = 1; i < network->size; i++)
        good &= put(network->sockets[i], data, size);
    return good;
}

static bool gather(void *context, const void *data, size_t size, void *all, const size_t *sizes)
{
    const struct network *network = context;
    char *next = all;
    bool good = true;
    if (network->rank)
        return put(network->sockets[0], data, size);
    for (int i = 0; i < network->size; next += sizes[i], i++) {
        if (i)
            good &= get(network->sockets[i], next, sizes[i]);
        else if (size)
            memcpy(next, data, size);
    }
    return good;
}

static bool scatter(void *context, const void *all, const size_t *sizes, void *data, size_t size)
{
    const struct network *network = context;
    const char *next = all;
    bool good = true;
    if (network->rank)
        return get(network->sockets[0], data, size);
    for (int i = 0; i < network->size; next += sizes[i], i++) {
        if (i)
            good &= put(network->sockets[i], next, sizes[i]);
        else if (size)
            memcpy(data, next, size);
    }
    return good;
}

static bool barrier(void *context)
{
    char byte = 0, all[MOST];
    size_t sizes[MOST];
    for (int i = 0; i < MOST; i++)
        sizes[i] = 1;
    return gather(context, &byte, 1, all, sizes) && broadcast(context, &byte, 1);
}

static int write_part(const char *module, const char *directory, const char *file,
                      struct network *network)
{
    const struct trace_otf2_group group = {.rank = network->rank,
                                           .size = network->size,
                                           .context = network,
                                           .barrier = barrier,
                                           .broadcast = broadcast,
                                           .gather = gather,
                                           .scatter = scatter};
    char *problem;
    const bool good = open_module(module)->write_together(&group, strcmp(file, "-") ? file : NULL,
                                                          directory, &problem);
    return report(good, problem);
}

static int write_together(const char *module, const char *directory, char **files, int count)
{
    struct network root = {0, count, {0}};
    int status = 0;
    for (int i = 1; i < count; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            stop_with("no sockets");
        if (!fork()) {
            struct network network = {i, count, {pair[1]}};
            exit(write_part(module, directory, files[i], &network));
        }
        close(pair[1]);
        root.sockets[i] = pair[0];
    }
    const int mine = write_part(module, directory, files[0], &root);
    for (int i = 1, its; i < count; i++) {
        if (wait(&its) < 0 || !WIFEXITED(its) || WEXITSTATUS(its) != mine)
            status = 3; /* This is an error: either all processes must fail, or none. */
    }
    return status ? status : mine;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "files")) {
        make_files(argv[2]);
        return 0;
    }
    if (argc == 4 && !strcmp(argv[1], "random")) {
        make_random(argv[2], strtoull(argv[3], NULL, 10));
        return 0;
    }
    if (argc == 5 && !strcmp(argv[1], "write"))
        return write_alone(argv[2], argv[3], argv[4]);
    if (argc == 5 && !strcmp(argv[1], "vanish"))
        return write_vanished(argv[2], argv[3], argv[4]);
    if (argc >= 5 && argc <= MOST && !strcmp(argv[1], "together"))
        return write_together(argv[2], argv[3], argv + 4, argc - 4);
    stop_with("see the first lines of make_trace.c");
}
