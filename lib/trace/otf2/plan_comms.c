/* SPDX-License-Identifier: MIT */
/*
 * Communicators, windows and files of an archive: which of several processes are the same.
 * Identities tell it of communicators. Windows and files are made by all processes of a
 * communicator together, and are therefore numbered in the order in which each process has made
 * them.
 */
#include "trace/otf2/plan_parts.h"

#include "trace/event.h"

#include <stdlib.h>
#include <string.h>

/* ---- Communicators --------------------------------------------------------------------------- */

static void find_members(const struct archive_plan *plan, uint64_t *members, const int *group,
                         int size)
{
    for (int i = 0; i < size; i++)
        members[i] = plan_find_rank(plan, group ? group[i] : TRACE_UNDEFINED);
}

/* The group, or both groups. */
static uint32_t add_group(struct archive_plan *plan, const struct trace_comm *comm)
{
    const int remote_size = comm->remote ? comm->remote_size : 0;
    const size_t size = (size_t)comm->size + (size_t)remote_size;
    uint64_t *members = calloc(size + 1, sizeof *members);
    plan->failed |= !members;
    if (!members)
        return TRACE_NO_NUMBER;
    find_members(plan, members + archive_local_shift(comm), comm->group, comm->size);
    find_members(plan, members + archive_remote_shift(comm), comm->remote, remote_size);
    const uint32_t number = trace_map_add(&plan->groups, members, size * sizeof *members, NULL);
    free(members);
    return number;
}

/* What tells communicators apart: the identity; else the process and its index there. All
 * MPI_COMM_SELF are one. */
struct comm_key {
    uint64_t id, part, index;
};

static bool is_self(const struct trace_comm *comm)
{
    return comm->size == 1 && !comm->remote && !strcmp(comm->name, "MPI_COMM_SELF");
}

static void add_comm(struct archive_plan *plan, size_t part, size_t index, uint32_t *number)
{
    const struct trace_comm *comm = &plan->parts[part].process->comms[index];
    const bool self = is_self(comm);
    const struct comm_key key = {self ? 0 : comm->id, self || comm->id ? 0 : part + 1,
                                 self || comm->id ? 0 : index};
    bool is_new = false;
    *number = trace_map_add(&plan->comm_keys, &key, sizeof key, &is_new);
    if (*number == TRACE_NO_NUMBER)
        return;
    if (is_new) {
        struct archive_comm *comms =
            trace_grow(plan->comms, *number, &plan->comm_room, sizeof *comms);
        plan->failed |= !comms;
        if (!comms) {
            *number = TRACE_NO_NUMBER;
            return;
        }
        plan->comms = comms;
        comms[*number] = (struct archive_comm){.name = "",
                                               .parent_id = self ? 0 : comm->parent,
                                               .group = self ? 0 : add_group(plan, comm),
                                               .is_self = self};
    }
    struct archive_comm *it = &plan->comms[*number];
    if (!*it->name)
        it->name = comm->name;
    it->has_events |= plan->parts[part].comm_events[index];
}

void plan_add_comms(struct archive_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = plan_table(plan, &plan->tables[part], ARCHIVE_COMMS, process->comm_count);
    for (size_t i = 0; table && i < process->comm_count && !plan->failed; i++)
        add_comm(plan, part, i, &table[i]);
}

/* Numbers a communicator after its parent; `depth` ends circles, which no program makes. */
static void number_comm(struct archive_plan *plan, uint32_t index, size_t *count)
{
    while (plan->comms[index].number == TRACE_NO_NUMBER) {
        uint32_t first = index;
        for (size_t depth = 0; depth < plan->comm_keys.count; depth++) {
            const uint32_t parent = plan->comms[first].parent;
            if (parent == TRACE_NO_NUMBER || plan->comms[parent].number != TRACE_NO_NUMBER)
                break;
            first = parent;
        }
        struct archive_comm *comm = &plan->comms[first];
        if (comm->parent != TRACE_NO_NUMBER && plan->comms[comm->parent].number == TRACE_NO_NUMBER)
            comm->parent = TRACE_NO_NUMBER;
        comm->number = (uint32_t)*count;
        plan->comm_order[(*count)++] = first;
    }
}

void plan_order_comms(struct archive_plan *plan)
{
    const size_t all = plan->comm_keys.count;
    size_t count = 0;
    plan->comm_order = calloc(all + 1, sizeof *plan->comm_order);
    if (!plan->comm_order) {
        plan->failed = true;
        return;
    }
    for (uint32_t i = 0; i < all; i++) {
        struct archive_comm *comm = &plan->comms[i];
        const struct comm_key key = {comm->parent_id, 0, 0};
        comm->number = TRACE_NO_NUMBER;
        comm->parent =
            comm->parent_id ? trace_map_find(&plan->comm_keys, &key, sizeof key) : TRACE_NO_NUMBER;
    }
    for (uint32_t i = 0; i < all; i++)
        number_comm(plan, i, &count);
    for (size_t i = 0; i < plan->part_count; i++) {
        struct archive_tables *tables = &plan->tables[i];
        for (size_t k = 0; k < tables->count[ARCHIVE_COMMS]; k++)
            tables->all[ARCHIVE_COMMS][k] = plan->comms[tables->all[ARCHIVE_COMMS][k]].number;
    }
}

/* ---- Windows and files ----------------------------------------------------------------------- */

struct object_key {
    uint64_t comm, number; /* the how manieth on it; no communicator: of the process */
};

/* `seen` counts the objects of each communicator. */
static struct object_key object_key(const struct archive_plan *plan, size_t part, uint32_t comm,
                                    size_t index, uint32_t *seen)
{
    const struct archive_tables *tables = &plan->tables[part];
    if (comm >= tables->count[ARCHIVE_COMMS])
        return (struct object_key){UINT64_MAX - part, index};
    return (struct object_key){tables->all[ARCHIVE_COMMS][comm], seen[comm]++};
}

void plan_add_windows(struct archive_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = plan_table(plan, &plan->tables[part], ARCHIVE_WINDOWS, process->window_count);
    uint32_t *seen = calloc(process->comm_count + 1, sizeof *seen);
    plan->failed |= !seen;
    for (size_t i = 0; table && seen && i < process->window_count; i++) {
        const struct trace_window *window = &process->windows[i];
        const struct object_key key = object_key(plan, part, window->comm, i, seen);
        bool is_new;
        table[i] = trace_map_add(&plan->window_keys, &key, sizeof key, &is_new);
        if (table[i] == TRACE_NO_NUMBER)
            break;
        struct archive_window *windows =
            trace_grow(plan->windows, table[i], &plan->window_room, sizeof *windows);
        plan->failed |= !windows;
        if (!windows)
            break;
        plan->windows = windows;
        if (is_new)
            windows[table[i]] = (struct archive_window){
                .name = "",
                .comm = key.comm < plan->comm_keys.count ? (uint32_t)key.comm : TRACE_NO_NUMBER};
        if (!*windows[table[i]].name)
            windows[table[i]].name = window->name;
        windows[table[i]].has_events |= plan->parts[part].window_events[i];
    }
    free(seen);
}

void plan_add_files(struct archive_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = plan_table(plan, &plan->tables[part], ARCHIVE_FILES, process->file_count);
    uint32_t *seen = calloc(process->comm_count + 1, sizeof *seen);
    plan->failed |= !seen;
    for (size_t i = 0; table && seen && i < process->file_count; i++) {
        const struct trace_file *file = &process->files[i];
        const struct object_key key = object_key(plan, part, file->comm, i, seen);
        bool is_new;
        table[i] = trace_map_add(&plan->file_keys, &key, sizeof key, &is_new);
        if (table[i] == TRACE_NO_NUMBER || !is_new)
            continue;
        struct archive_file *files =
            trace_grow(plan->files, table[i], &plan->file_room, sizeof *files);
        plan->failed |= !files;
        if (!files)
            break;
        plan->files = files;
        files[table[i]] = (struct archive_file){
            trace_map_add(&plan->file_names, file->name, strlen(file->name), NULL),
            key.comm < plan->comm_keys.count ? (uint32_t)key.comm : TRACE_NO_NUMBER};
    }
    free(seen);
}
