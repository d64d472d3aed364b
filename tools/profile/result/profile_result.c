/* SPDX-License-Identifier: MIT */
/* See profile_result.h. */
#define _GNU_SOURCE
#include "tools/profile/result/profile_result.h"

#include "util/util.h"

#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(NAME, UNIT, COMBINE, HEADING, SINCE)                                                   \
    {#NAME, offsetof(struct profile_calls, NAME), PROFILE_##UNIT, PROFILE_##COMBINE, HEADING,      \
     SINCE},
const struct profile_figure profile_figures[] = {PROFILE_FIGURES(ROW)};

double profile_figure_get(const struct profile_calls *calls, int figure)
{
    double value;
    memcpy(&value, (const char *)calls + profile_figures[figure].offset, sizeof value);
    return value;
}

void profile_figure_set(struct profile_calls *calls, int figure, double value)
{
    memcpy((char *)calls + profile_figures[figure].offset, &value, sizeof value);
}

/* ---- Members ---------------------------------------------------------------------------------
 * They are in the order in which JSON contains them.
 */

/* These macros make the tables of the structure OF. */
#define TYPE(NAME, ...)                                                                            \
    const struct member_type members_##NAME = {                                                    \
        sizeof(OF), (const struct member[]){__VA_ARGS__, {.kind = MEMBER_END}}};
#define AT(NAME) .offset = offsetof(OF, NAME)
#define HAS(KIND, NAME) .kind = MEMBER_##KIND, .name = #NAME, AT(NAME)
#define MAY_HAVE(KIND, NAME) HAS(KIND, NAME), .is_optional = true
#define OF_TYPE(COUNT, ELEMENT) .count_offset = offsetof(OF, COUNT), .type = &members_##ELEMENT
#define FRAMES HAS(FRAMES, frames), OF_TYPE(frame_count, frame)
/* These have forms of their own in JSON. */
#define BYTES(NAME) .kind = MEMBER_BYTES, AT(NAME), .count_offset = offsetof(OF, count)
#define LIST(NAME, ELEMENT) .kind = MEMBER_ARRAY, AT(NAME.all), OF_TYPE(NAME.count, ELEMENT)

#define OF struct profile_rank_calls
TYPE(rank_calls, {HAS(INT, rank)}, {HAS(WHOLE, calls)}, {HAS(REAL, time)}, {MAY_HAVE(REAL, wait)},
     {MAY_HAVE(WHOLE, sent)}, {MAY_HAVE(WHOLE, received)})
#undef OF

#define OF struct profile_wait
TYPE(wait, {HAS(INT, rank)}, {HAS(INT, peer), .least = -1}, {HAS(WHOLE, calls)}, {HAS(REAL, time)})
#undef OF

#define OF struct profile_frame
TYPE(frame, {HAS(TEXT, module)}, {HAS(WHOLE, offset)}, {MAY_HAVE(TEXT, function)},
     {MAY_HAVE(TEXT, file)}, {MAY_HAVE(INT, line), .least = 1}, {HAS(FLAG, inlined)})
#undef OF

#define OF struct profile_function
TYPE(function, {HAS(TEXT, name)}, {HAS(TEXT, group)}, {HAS(CALLS, calls)}, {HAS(WHOLE, no_bytes)},
     {HAS(BINS, sizes), .bins = PROFILE_SIZE_BINS}, {HAS(BINS, times), .bins = PROFILE_TIME_BINS},
     {MAY_HAVE(INT, ranks)}, {LIST(by_rank, rank_calls)}, {LIST(callers, rank_calls)})
#undef OF

#define OF struct profile_callsite
TYPE(callsite, {HAS(TEXT, name)}, {FRAMES}, {HAS(INT, ranks)}, {HAS(CALLS, calls)},
     {MAY_HAVE(WHOLE, messages)}, {LIST(by_rank, rank_calls)}, {LIST(callers, rank_calls)},
     {LIST(waits, wait)})
#undef OF

#define OF struct profile_rank_calls
TYPE(outside_rank, {HAS(INT, rank)}, {HAS(REAL, time)})
#undef OF

/* JSON contains the indices of the call sites instead of their keys. */
#define OF struct profile_outside
TYPE(outside, {.kind = MEMBER_WHOLE, AT(from)}, {.kind = MEMBER_WHOLE, AT(to)}, {HAS(SPREAD, time)},
     {LIST(ranks, rank_calls)})
#undef OF

#define OF struct profile_await
TYPE(await, {HAS(FLAG, sending)}, {MAY_HAVE(INT, peer), .absent = -1}, {HAS(FLAG, any)},
     {MAY_HAVE(INT, tag), .absent = -1}, {MAY_HAVE(BITS, comm)})
#undef OF

#define OF struct profile_flight
TYPE(flight, {HAS(TEXT, name)}, {HAS(INT, rank)}, {HAS(TEXT, since)}, {HAS(REAL, time)},
     {.kind = MEMBER_BOOLEAN, .name = "waiting", AT(waits)}, {FRAMES},
     {MAY_HAVE(TEXT, communicator)}, {MAY_HAVE(BITS, comm)}, {MAY_HAVE(TEXT, members)},
     {MAY_HAVE(INT, root), .absent = -1}, {MAY_HAVE(ARRAY, awaits), OF_TYPE(await_count, await)})
#undef OF

#define OF struct profile_matrix_entry
TYPE(matrix_entry, {HAS(INT, from)}, {HAS(INT, to)}, {HAS(WHOLE, messages)}, {HAS(WHOLE, bytes)})
#undef OF

#define OF struct profile_communicator
TYPE(communicator, {HAS(TEXT, name)}, {HAS(INT, size)}, {HAS(INT, first), .least = -1},
     {HAS(BITS, members)}, {HAS(WHOLE, instances)}, {HAS(CALLS, calls)})
#undef OF

#define OF struct profile_file
TYPE(file, {HAS(TEXT, name)}, {HAS(WHOLE, opens)}, {HAS(WHOLE, read)}, {HAS(WHOLE, written)},
     {HAS(CALLS, calls)})
#undef OF

#define OF struct profile_node
TYPE(node, {HAS(TEXT, host)}, {HAS(REAL, useful)})
#undef OF

#define OF struct profile_variable
TYPE(variable, {HAS(TEXT, name)}, {HAS(TEXT, value)})
#undef OF

#define OF struct profile_region
/* clang-format off */
#define REGION_HEAD \
    {HAS(TEXT, name)}, {HAS(WHOLE, entries)}, {HAS(SPREAD, time)}, {HAS(SPREAD, mpi)}
#define REGION_USEFUL \
    {HAS(SPREAD, useful), .is_new = true}, \
    {HAS(ARRAY, nodes), OF_TYPE(node_count, node), .is_new = true}
#define REGION_REST \
    {MAY_HAVE(REAL, path)}, {HAS(ARRAY, functions), OF_TYPE(function_count, function)}
/* clang-format on */
TYPE(region_head, REGION_HEAD)
TYPE(region_useful, REGION_USEFUL)
TYPE(region_rest, REGION_REST)
TYPE(region, REGION_HEAD, REGION_USEFUL, REGION_REST)
#undef OF

#define OF struct profile_process
TYPE(process, {HAS(INT, rank)}, {HAS(TEXT, host)}, {MAY_HAVE(TEXT, program)},
     {HAS(REAL, application)}, {MAY_HAVE(REAL, off)}, {HAS(REAL, mpi)},
     {HAS(REAL, useful), .is_new = true}, {MAY_HAVE(REAL, path)}, {HAS(WHOLE, memory)},
     {MAY_HAVE(REAL, processor_time)}, {MAY_HAVE(REAL, queued)}, {MAY_HAVE(WHOLE, preemptions)},
     {MAY_HAVE(TEXT, processors)},
     {.kind = MEMBER_TEXT, .name = "ending", AT(termination), .is_optional = true})
#undef OF

#define OF struct profile_window_rank
TYPE(window_rank, {HAS(INT, rank)}, {HAS(REAL, last)}, {BYTES(mpi)}, {BYTES(profiled)})
#undef OF

#define OF struct profile_windows
TYPE(windows, {HAS(REAL, width)}, {HAS(ARRAY, ranks), OF_TYPE(rank_count, window_rank)})
#undef OF

#define OF struct profile_result
TYPE(result_head, {HAS(TEXT, program)}, {MAY_HAVE(TEXT, command)}, {MAY_HAVE(TEXT, job)},
     {MAY_HAVE(TEXT, batch_job)}, {MAY_HAVE(TEXT, user)}, {HAS(TEXT, mpi)}, {HAS(TEXT, begin)},
     {.kind = MEMBER_INT, .name = "layer", AT(tool_id)}, {HAS(INT, ranks), .least = 1},
     {MAY_HAVE(INT, rank), .absent = -1},
     {.kind = MEMBER_TEXT, .name = "ending", AT(termination), .is_optional = true},
     {MAY_HAVE(ARRAY, environment), OF_TYPE(variable_count, variable)}, {HAS(FLAG, every_rank)},
     {HAS(SPREAD, application)}, {HAS(SPREAD, time)})
TYPE(result_unfinished, {HAS(WHOLE, unfinished_receives)},
     {.kind = MEMBER_ARRAY, .name = "in_flight", AT(flights), OF_TYPE(flight_count, flight)})
TYPE(result_arrays, {HAS(ARRAY, processes), OF_TYPE(process_count, process)},
     {HAS(ARRAY, functions), OF_TYPE(function_count, function)},
     {HAS(ARRAY, callsites), OF_TYPE(callsite_count, callsite)},
     {MAY_HAVE(ARRAY, outside), OF_TYPE(outside_count, outside)},
     {HAS(ARRAY, matrix), OF_TYPE(matrix_entry_count, matrix_entry)},
     {HAS(ARRAY, communicators), OF_TYPE(communicator_count, communicator)},
     {HAS(ARRAY, files), OF_TYPE(file_count, file)},
     {HAS(ARRAY, regions), OF_TYPE(region_count, region)})
#undef OF

/* ---- Freeing, listing ------------------------------------------------------------------------ */

bool profile_result_is_separate(const char *termination)
{
    return !strcmp(termination, PROFILE_SESSIONS_ENDED) || !strcmp(termination, PROFILE_NOT_MERGED);
}

void profile_result_free(struct profile_result *result)
{
    if (!result)
        return;
    members_free(&members_result_head, result);
    members_free(&members_result_unfinished, result);
    members_free(&members_result_arrays, result);
    members_free(&members_windows, &result->windows);
    free(result);
}

bool profile_rank_is_listed(const struct profile_result *result, const struct profile_calls *calls,
                            const struct profile_rank_calls *sort_key)
{
    const double mean = calls->time.mean + calls->wait.mean;
    return result->every_rank || result->termination ||
           fabs(sort_key->time + sort_key->wait - mean) >
               PROFILE_DEVIATION * result->application.mean;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* The key by which functions, call sites, communicators, files and regions are sorted. */
struct sort_key {
    double most;
    const char *name;
};

static int compare_sort_keys(struct sort_key a, struct sort_key b)
{
    if (a.most != b.most)
        return a.most < b.most ? 1 : -1;
    return strcmp(a.name ? a.name : "", b.name ? b.name : "");
}

static struct sort_key key_of_calls(const struct profile_calls *calls, const char *name,
                                    enum profile_sort order)
{
    switch (order) {
    case PROFILE_BY_TIME:
        return (struct sort_key){calls->time.sum, name};
    case PROFILE_BY_CALLS:
        return (struct sort_key){(double)calls->calls, name};
    case PROFILE_BY_BYTES:
        return (struct sort_key){(double)calls->sent + (double)calls->received, name};
    case PROFILE_BY_NAME:
        break;
    }
    return (struct sort_key){0, name};
}

/* Defines the comparison for a type with the members `name` and `calls`. */
#define DEFINE_COMPARISON(TYPE)                                                                    \
    static int compare_##TYPE(const void *a, const void *b, void *order)                           \
    {                                                                                              \
        const struct profile_##TYPE *mine = a, *its = b;                                           \
        return compare_sort_keys(                                                                  \
            key_of_calls(&mine->calls, mine->name, *(enum profile_sort *)order),                   \
            key_of_calls(&its->calls, its->name, *(enum profile_sort *)order));                    \
    }
DEFINE_COMPARISON(function)
DEFINE_COMPARISON(callsite)
DEFINE_COMPARISON(communicator)

static struct sort_key key_of_file(const struct profile_file *file, enum profile_sort order)
{
    if (order == PROFILE_BY_BYTES)
        return (struct sort_key){(double)file->read + (double)file->written, file->name};
    return key_of_calls(&file->calls, file->name, order);
}

static int compare_file(const void *a, const void *b, void *order)
{
    return compare_sort_keys(key_of_file(a, *(enum profile_sort *)order),
                             key_of_file(b, *(enum profile_sort *)order));
}

static struct sort_key key_of_region(const struct profile_region *region, enum profile_sort order)
{
    struct sort_key sort_key = {0, region->name};
    if (order == PROFILE_BY_TIME)
        sort_key.most = region->time.sum;
    for (size_t i = 0; i < region->function_count; i++) {
        if (order == PROFILE_BY_CALLS || order == PROFILE_BY_BYTES)
            sort_key.most += key_of_calls(&region->functions[i].calls, NULL, order).most;
    }
    return sort_key;
}

static int compare_region(const void *a, const void *b, void *order)
{
    return compare_sort_keys(key_of_region(a, *(enum profile_sort *)order),
                             key_of_region(b, *(enum profile_sort *)order));
}

/* The only figure of these elements is the time, and they have no name. */
static int compare_outside(const void *a, const void *b, void *order)
{
    const struct profile_outside *mine = a, *its = b;
    (void)order;
    if (mine->time.sum != its->time.sum)
        return mine->time.sum < its->time.sum ? 1 : -1;
    if (mine->from != its->from)
        return mine->from < its->from ? -1 : 1;
    return (mine->to > its->to) - (mine->to < its->to);
}

/* qsort requires an array even if there are no elements. */
static void sort_array(void *base, size_t count, size_t size,
                       int (*compare)(const void *, const void *, void *), enum profile_sort order)
{
    if (count > 1)
        qsort_r(base, count, size, compare, &order);
}

void profile_result_sort(struct profile_result *result, enum profile_sort order)
{
#define SORT(ARRAY, COUNT, TYPE) sort_array(ARRAY, COUNT, sizeof *(ARRAY), compare_##TYPE, order)
    SORT(result->functions, result->function_count, function);
    SORT(result->callsites, result->callsite_count, callsite);
    SORT(result->outside, result->outside_count, outside);
    SORT(result->communicators, result->communicator_count, communicator);
    SORT(result->files, result->file_count, file);
    SORT(result->regions, result->region_count, region);
    for (size_t i = 0; i < result->region_count; i++)
        SORT(result->regions[i].functions, result->regions[i].function_count, function);
#undef SORT
}

/* ---- Restriction to functions ---------------------------------------------------------------- */

static bool matches_pattern(const char *name, const char *pattern)
{
    return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

static size_t filter_functions(struct profile_function *functions, size_t count,
                               const char *pattern)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (matches_pattern(functions[i].name, pattern)) {
            functions[kept++] = functions[i];
            continue;
        }
        members_free(&members_function, &functions[i]);
    }
    return kept;
}

static size_t filter_callsites(struct profile_callsite *callsites, size_t count,
                               const char *pattern)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (matches_pattern(callsites[i].name, pattern)) {
            callsites[kept++] = callsites[i];
            continue;
        }
        members_free(&members_callsite, &callsites[i]);
    }
    return kept;
}

/* Keeps the time outside MPI between call sites that remain. */
static size_t filter_outside(struct profile_result *result)
{
    size_t kept = 0;
    for (size_t i = 0; i < result->outside_count; i++) {
        struct profile_outside *it = &result->outside[i];
        if ((!it->from || profile_callsite_find(result, it->from)) &&
            (!it->to || profile_callsite_find(result, it->to)))
            result->outside[kept++] = *it;
        else
            members_free(&members_outside, it);
    }
    return kept;
}

size_t profile_result_filter(struct profile_result *result, const char *pattern)
{
    result->function_count = filter_functions(result->functions, result->function_count, pattern);
    result->callsite_count = filter_callsites(result->callsites, result->callsite_count, pattern);
    for (size_t i = 0; i < result->region_count; i++) {
        struct profile_region *region = &result->regions[i];
        region->function_count =
            filter_functions(region->functions, region->function_count, pattern);
    }
    result->outside_count = filter_outside(result);
    result->is_filtered = true;
    return result->function_count;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *find_program(const struct profile_result *result,
                                const struct profile_process *process)
{
    return or_empty(process->program ? process->program : result->program);
}

bool profile_programs_are_several(const struct profile_result *result)
{
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].program)
            return true;
    }
    return false;
}

/* ---- Merging --------------------------------------------------------------------------------- */

static int lowest_rank(const struct profile_result *result)
{
    int lowest = INT_MAX;
    for (size_t i = 0; i < result->process_count; i++)
        lowest = result->processes[i].rank < lowest ? result->processes[i].rank : lowest;
    return lowest;
}

/* Sets the program of each process that has none to the program of the result. */
static bool name_all(struct profile_result *result)
{
    for (size_t i = 0; i < result->process_count; i++) {
        struct profile_process *process = &result->processes[i];
        if (!process->program)
            process->program = strdup(or_empty(result->program));
        if (!process->program)
            return false;
    }
    return true;
}

/* Removes the program of each process that has the program of the result. */
static void name_others(struct profile_result *result)
{
    for (size_t i = 0; i < result->process_count; i++) {
        struct profile_process *process = &result->processes[i];
        if (process->program && !strcmp(process->program, or_empty(result->program))) {
            free(process->program);
            process->program = NULL;
        }
    }
}

/* Swaps the members that describe the run. This is for the case that `first`, which has the lowest
 * rank, is merged into `last`, so that the merged result describes the run as `first` did. */
static void describe_first(struct profile_result *first, struct profile_result *last)
{
    const struct profile_result its = *first;
    first->command = last->command;
    first->batch_job = last->batch_job;
    first->user = last->user;
    first->environment = last->environment;
    first->variable_count = last->variable_count;
    last->command = its.command;
    last->batch_job = its.batch_job;
    last->user = its.user;
    last->environment = its.environment;
    last->variable_count = its.variable_count;
}

bool profile_programs_equalize(struct profile_result *result, struct profile_result *other)
{
    const bool is_first = lowest_rank(result) <= lowest_rank(other);
    struct profile_result *first = is_first ? result : other, *last = is_first ? other : result;
    if (!is_first)
        describe_first(first, last);
    if (!strcmp(or_empty(result->program), or_empty(other->program)))
        return true;
    char *program = strdup(or_empty(first->program));
    const bool good = program && name_all(last);
    if (good) {
        free(last->program);
        last->program = program;
    } else {
        free(program);
    }
    name_others(last);
    return good;
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

static int compare_hosts(const void *a, const void *b)
{
    const struct profile_host *left = a, *right = b;
    return strcmp(left->name, right->name);
}

size_t profile_hosts_list(const struct profile_result *result, struct profile_host **hosts)
{
    size_t count = 0;
    *hosts = result->process_count ? calloc(result->process_count, sizeof **hosts) : NULL;
    if (!*hosts)
        return 0;
    for (size_t i = 0; i < result->process_count; i++)
        (*hosts)[i] = (struct profile_host){or_empty(result->processes[i].host), 1};
    qsort(*hosts, result->process_count, sizeof **hosts, compare_hosts);
    for (size_t i = 0; i < result->process_count; i++) {
        if (count && !strcmp((*hosts)[count - 1].name, (*hosts)[i].name))
            (*hosts)[count - 1].ranks++;
        else
            (*hosts)[count++] = (*hosts)[i];
    }
    return count;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static bool is_program_listed(const char *const *programs, size_t count, const char *program)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(programs[i], program))
            return true;
    }
    return false;
}

size_t profile_programs_list(const struct profile_result *result, const char ***programs)
{
    size_t count = 0;
    *programs = calloc(PROFILE_PROGRAMS_MOST, sizeof **programs);
    if (!*programs)
        return 0;
    for (size_t i = 0; i < result->process_count && count < PROFILE_PROGRAMS_MOST; i++) {
        const char *program = find_program(result, &result->processes[i]);
        if (!is_program_listed(*programs, count, program))
            (*programs)[count++] = program;
    }
    if (!count)
        (*programs)[count++] = or_empty(result->program);
    return count;
}

/* Prints a range of ranks, such as "3", "3, 4" or "3-7", after `number` other ranges. After MOST
 * ranges, prints "…" once instead. */
static void print_range(FILE *stream, int first, int last, int number)
{
    enum { MOST = 8 };
    if (number == MOST)
        fputs(", …", stream);
    if (number >= MOST)
        return;
    fprintf(stream, "%s%d", number ? ", " : "", first);
    if (last > first)
        fprintf(stream, "%s%d", last > first + 1 ? "-" : ", ", last);
}

char *profile_programs_ranks(const struct profile_result *result, const char *program)
{
    char *text = NULL;
    size_t length, ranks = 0, at = 0;
    for (size_t i = 0; i < result->process_count; i++)
        ranks += !strcmp(find_program(result, &result->processes[i]), program);
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return NULL;
    fputs(ranks == 1 ? "rank " : "ranks ", stream);
    for (int number = 0; at < result->process_count; at++) {
        const size_t first = at;
        while (at < result->process_count &&
               !strcmp(find_program(result, &result->processes[at]), program) &&
               result->processes[at].rank == result->processes[first].rank + (int)(at - first))
            at++;
        if (at == first)
            continue;
        print_range(stream, result->processes[first].rank, result->processes[at - 1].rank,
                    number++);
        at--;
    }
    return fclose(stream) ? NULL : text;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

static void add_to_key(uint64_t *key, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *key = (*key ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
}

uint64_t profile_callsite_key(const char *function, const struct profile_frame *frames, int count)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    add_to_key(&key, function, strlen(function) + 1);
    for (int i = 0; i < count; i++) {
        if (frames[i].inlined)
            continue; /* It was added when places were looked up. */
        add_to_key(&key, frames[i].module, strlen(frames[i].module) + 1);
        add_to_key(&key, (const char *)&frames[i].offset, sizeof frames[i].offset);
    }
    return key ? key : 1;
}

bool profile_module_is_extension(const char *module)
{
    const char *name = qmpi_text_base_name(module);
    return strstr(name, ".cpython-") || strstr(name, ".abi3.so");
}

bool profile_has_python_lines(const struct profile_result *result)
{
    for (size_t i = 0; i < result->callsite_count; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        if (site->frame_count && site->frames->file && *site->frames->module &&
            !strcmp(site->frames->file, site->frames->module))
            return true;
    }
    return false;
}

const struct profile_callsite *profile_callsite_find(const struct profile_result *result,
                                                     uint64_t key)
{
    for (size_t i = 0; i < result->callsite_count; i++) {
        const struct profile_callsite *it = &result->callsites[i];
        if (profile_callsite_key(it->name, it->frames, it->frame_count) == key)
            return it;
    }
    return NULL;
}

static void mark_frames(struct profile_frame *frames, int count, const char *const *programs,
                        size_t program_count)
{
    for (int i = 0; i < count; i++)
        frames[i].names_module =
            program_count > 1 && is_program_listed(programs, program_count, frames[i].module);
}

static void mark_programs(struct profile_result *result)
{
    const char **programs;
    const size_t count = profile_programs_list(result, &programs);
    for (size_t i = 0; i < result->callsite_count; i++)
        mark_frames(result->callsites[i].frames, result->callsites[i].frame_count, programs, count);
    for (size_t i = 0; i < result->flight_count; i++)
        mark_frames(result->flights[i].frames, result->flights[i].frame_count, programs, count);
    free(programs);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static void free_places(struct profile_frame *places, int count)
{
    for (int i = 0; i < count; i++) {
        free(places[i].module);
        free(places[i].function);
        free(places[i].file);
    }
    free(places);
}

/* Replaces frame `at` by the places. Returns the number of frames that take its position. */
static int replace_frame(struct profile_frame **frames, int *frame_count, int at,
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

static void resolve_frames(const struct profile_result *result, struct profile_frame **frames,
                           int *frame_count, profile_programs_finder *find)
{
    for (int i = 0; i < *frame_count;) {
        const struct profile_frame *frame = &(*frames)[i];
        struct profile_frame *places = NULL;
        const int count = frame->function || !*frame->module ? 0 : find(result, frame, &places);
        i += count ? replace_frame(frames, frame_count, i, places, count) : 1;
    }
}

void profile_programs_resolve(struct profile_result *result, profile_programs_finder *find)
{
    for (size_t i = 0; i < result->callsite_count; i++)
        resolve_frames(result, &result->callsites[i].frames, &result->callsites[i].frame_count,
                       find);
    for (size_t i = 0; i < result->flight_count; i++)
        resolve_frames(result, &result->flights[i].frames, &result->flights[i].frame_count, find);
    mark_programs(result);
}

static void print_frame(FILE *stream, const struct profile_frame *frame)
{
    if (frame->function)
        fputs(frame->function, stream);
    else
        fprintf(stream, "%s+0x%llx", frame->module ? frame->module : "",
                (unsigned long long)frame->offset);
    if (frame->file)
        fprintf(stream, " (%s:%d)", frame->file, frame->line);
}

char *profile_programs_describe(const struct profile_frame *frames, int count)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    for (int i = 0; stream && i < count; i++) {
        fputs(i ? " < " : "", stream);
        print_frame(stream, &frames[i]);
    }
    return stream && !fclose(stream) ? text : NULL;
}

/* ---- One rank -------------------------------------------------------------------------------- */

/* Returns `part` of `whole` in units of 1/PROFILE_WINDOW_WHOLE. *rounding carries the rounding
 * error from window to window. */
static unsigned char round_part(double *rounding, double part, double whole)
{
    const double wanted = part + *rounding;
    const double share = whole > 0 ? wanted / whole : 0;
    const double units = fmin(fmax(round(share * PROFILE_WINDOW_WHOLE), 0), PROFILE_WINDOW_WHOLE);
    *rounding = wanted - units / PROFILE_WINDOW_WHOLE * whole;
    return (unsigned char)units;
}

static double profiled_in(const struct profile_window_rank *rank, double width, size_t number)
{
    if (number + 1 == rank->count)
        return rank->last;
    return rank->profiled ? rank->profiled[number] * width / PROFILE_WINDOW_WHOLE : width;
}

void profile_window_set(struct profile_windows_rounding *rounding, struct profile_window_rank *rank,
                        double width, size_t number, struct profile_window window)
{
    if (number + 1 == rank->count)
        rank->last = window.profiled;
    if (rank->profiled)
        rank->profiled[number] = round_part(&rounding->profiled, window.profiled, width);
    rank->mpi[number] = round_part(&rounding->mpi, window.mpi, profiled_in(rank, width, number));
}

struct profile_window profile_window_get(const struct profile_windows *windows,
                                         const struct profile_window_rank *rank, size_t number)
{
    if (number >= rank->count)
        return (struct profile_window){0, 0};
    const double profiled = profiled_in(rank, windows->width, number);
    return (struct profile_window){profiled, profiled * rank->mpi[number] / PROFILE_WINDOW_WHOLE};
}

/* ---- All ranks ------------------------------------------------------------------------------- */

size_t profile_windows_count(const struct profile_windows *windows)
{
    size_t count = 0;
    for (size_t i = 0; i < windows->rank_count; i++) {
        if (windows->ranks[i].count > count)
            count = windows->ranks[i].count;
    }
    return count;
}

/* The windows can be combined in place, because each is read before it is overwritten. */
static void widen_rank(const struct profile_windows *windows, struct profile_window_rank *rank)
{
    const struct profile_window_rank before = *rank;
    struct profile_windows_rounding rounding = {0, 0};
    rank->count = (before.count + 1) / 2;
    for (size_t i = 0; i < rank->count; i++) {
        const struct profile_window a = profile_window_get(windows, &before, 2 * i);
        const struct profile_window b = profile_window_get(windows, &before, 2 * i + 1);
        const struct profile_window both = {a.profiled + b.profiled, a.mpi + b.mpi};
        profile_window_set(&rounding, rank, 2 * windows->width, i, both);
    }
}

void profile_windows_widen(struct profile_windows *windows)
{
    for (size_t i = 0; i < windows->rank_count; i++)
        widen_rank(windows, &windows->ranks[i]);
    windows->width *= 2;
}

/* The ratio of the widths is a power of two, so the windows that are narrower can be widened to the
 * same width. */
void profile_windows_equalize(struct profile_windows *mine, struct profile_windows *its)
{
    if (!mine->rank_count)
        mine->width = its->width;
    while (mine->width < its->width && mine->width > 0)
        profile_windows_widen(mine);
    while (its->width < mine->width && its->width > 0)
        profile_windows_widen(its);
}

bool profile_windows_find(const struct profile_windows *windows, size_t first, size_t end,
                          struct profile_window_efficiency *efficiency)
{
    double sum = 0, most = 0;
    *efficiency = (struct profile_window_efficiency){.most_rank = -1};
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct profile_window_rank *rank = &windows->ranks[i];
        double profiled = 0, useful = 0;
        for (size_t number = first; number < end; number++) {
            const struct profile_window window = profile_window_get(windows, rank, number);
            profiled += window.profiled;
            useful += window.profiled - window.mpi;
        }
        efficiency->elapsed = fmax(efficiency->elapsed, profiled);
        if (useful > most || !i) {
            most = useful;
            efficiency->most_rank = rank->rank;
        }
        sum += useful;
    }
    if (!(efficiency->elapsed > 0))
        return false;
    const double mean = sum / (double)windows->rank_count;
    efficiency->parallel = mean / efficiency->elapsed;
    efficiency->communication = most / efficiency->elapsed;
    efficiency->balance = most > 0 ? mean / most : 1;
    return true;
}
