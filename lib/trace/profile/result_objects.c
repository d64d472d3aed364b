/* SPDX-License-Identifier: MIT */
/* See result_parts.h: pairs of ranks, communicators and files. */
#define _GNU_SOURCE
#include "trace/profile/result_parts.h"

#include <stdlib.h>
#include <string.h>

bool result_fill_matrix(const struct process_sums *sums, struct profile_result *result)
{
    result->matrix = calloc(sums->pair_keys.count + 1, sizeof *result->matrix);
    for (size_t i = 0; result->matrix && i < sums->pair_keys.count; i++) {
        const int *pair = sums->pair_keys.keys[i].data;
        result->matrix[result->matrix_entry_count++] = (struct profile_matrix_entry){
            pair[0], pair[1], sums->pairs[i].messages, sums->pairs[i].bytes};
    }
    return result->matrix != NULL;
}

static void add_sums(struct sums *to, const struct sums *more)
{
    if (!more->calls)
        return;
    if (!to->calls || more->shortest < to->shortest)
        to->shortest = more->shortest;
    if (more->longest > to->longest)
        to->longest = more->longest;
    to->calls += more->calls;
    to->time += more->time;
    to->sent += more->sent;
    to->received += more->received;
}

/* As tools/profile/record/comms.c: the same for the same processes in any order. */
static uint64_t hash_member(int world)
{
    uint64_t word = (uint64_t)(unsigned)world + 1;
    word *= UINT64_C(0x9e3779b97f4a7c15);
    word ^= word >> 32;
    word *= UINT64_C(0xbf58476d1ce4e5b9);
    return word ^ word >> 29;
}

static void add_members(struct profile_communicator *comm, const int *group, int size)
{
    comm->size += size;
    for (int i = 0; group && i < size; i++) {
        const int world = group[i] < 0 ? -1 : group[i];
        comm->members += hash_member(world);
        if (world >= 0 && (comm->first < 0 || world < comm->first))
            comm->first = world;
    }
}

/* A communicator of that name and those processes; the new one if there is none. */
static struct profile_communicator *find_communicator(struct profile_result *result,
                                                      const struct profile_communicator *like)
{
    size_t i = 0;
    while (i < result->communicator_count &&
           (result->communicators[i].members != like->members ||
            result->communicators[i].size != like->size ||
            strcmp(result->communicators[i].name, like->name) != 0))
        i++;
    if (i == result->communicator_count)
        result->communicator_count++;
    return &result->communicators[i];
}

bool result_fill_communicators(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    struct sums *all = calloc(process->comm_count + 1, sizeof *all);
    result->communicators = calloc(process->comm_count + 1, sizeof *result->communicators);
    bool good = all && result->communicators;
    for (size_t i = 0; good && i < process->comm_count; i++) {
        const struct trace_comm *its = &process->comms[i];
        if (!sums->comms[i].calls)
            continue;
        struct profile_communicator like = {.name = its->name, .first = -1};
        add_members(&like, its->group, its->size);
        if (its->remote)
            add_members(&like, its->remote, its->remote_size);
        struct profile_communicator *comm = find_communicator(result, &like);
        const uint64_t instances = comm->instances;
        char *name = comm->name ? comm->name : strdup(its->name);
        const size_t number = (size_t)(comm - result->communicators);
        *comm = like;
        comm->name = name;
        comm->instances = instances + 1;
        add_sums(&all[number], &sums->comms[i]);
        sums_fill(&comm->calls, &all[number], result_tick(sums), result_rank(sums));
        good = name != NULL;
    }
    free(all);
    return good;
}

bool result_fill_files(const struct process_sums *sums, struct profile_result *result)
{
    const struct trace_process *process = sums->process;
    struct sums *all = calloc(process->file_count + 1, sizeof *all);
    result->files = calloc(process->file_count + 1, sizeof *result->files);
    bool good = all && result->files;
    for (size_t i = 0; good && i < process->file_count; i++) {
        const char *name = process->files[i].name;
        if (!sums->files[i].calls && !sums->opens[i])
            continue;
        size_t k = 0;
        while (k < result->file_count && strcmp(result->files[k].name, name) != 0)
            k++;
        struct profile_file *file = &result->files[k];
        if (k == result->file_count) {
            result->file_count++;
            file->name = strdup(name);
            good = file->name != NULL;
            if (!good)
                break;
        }
        add_sums(&all[k], &sums->files[i]);
        file->opens += sums->opens[i];
        file->read = all[k].received;
        file->written = all[k].sent;
        sums_fill(&file->calls, &all[k], result_tick(sums), result_rank(sums));
    }
    free(all);
    return good;
}
