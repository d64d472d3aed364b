/* SPDX-License-Identifier: MIT */
/*
 * See plan.h. Communicators of several processes are the same if their identities are equal.
 * Windows and files have no identity. All processes of a communicator create them together, so they
 * are the same if they are equally numbered among the windows or files of the communicator. Debug
 * information is read here, once for each address. A call site without debug information is shown
 * as library and offset.
 */
#define _GNU_SOURCE
#include "tools/trace/otf2/plan.h"

#include "standard/standard.h"
#include "symbols/symbols.h"
#include "tools/trace/file/clock_line.h"
#include "tools/trace/file/event.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Functions ------------------------------------------------------------------------------- */

static const OTF2_CollectiveOp operations[] = {
    [QMPIX_COLLECTIVE_NONE] = OTF2_COLLECTIVE_OP_BARRIER,
    [QMPIX_COLLECTIVE_BARRIER] = OTF2_COLLECTIVE_OP_BARRIER,
    [QMPIX_COLLECTIVE_BCAST] = OTF2_COLLECTIVE_OP_BCAST,
    [QMPIX_COLLECTIVE_GATHER] = OTF2_COLLECTIVE_OP_GATHER,
    [QMPIX_COLLECTIVE_GATHERV] = OTF2_COLLECTIVE_OP_GATHERV,
    [QMPIX_COLLECTIVE_SCATTER] = OTF2_COLLECTIVE_OP_SCATTER,
    [QMPIX_COLLECTIVE_SCATTERV] = OTF2_COLLECTIVE_OP_SCATTERV,
    [QMPIX_COLLECTIVE_ALLGATHER] = OTF2_COLLECTIVE_OP_ALLGATHER,
    [QMPIX_COLLECTIVE_ALLGATHERV] = OTF2_COLLECTIVE_OP_ALLGATHERV,
    [QMPIX_COLLECTIVE_ALLTOALL] = OTF2_COLLECTIVE_OP_ALLTOALL,
    [QMPIX_COLLECTIVE_ALLTOALLV] = OTF2_COLLECTIVE_OP_ALLTOALLV,
    [QMPIX_COLLECTIVE_ALLTOALLW] = OTF2_COLLECTIVE_OP_ALLTOALLW,
    [QMPIX_COLLECTIVE_ALLREDUCE] = OTF2_COLLECTIVE_OP_ALLREDUCE,
    [QMPIX_COLLECTIVE_REDUCE] = OTF2_COLLECTIVE_OP_REDUCE,
    [QMPIX_COLLECTIVE_REDUCE_SCATTER] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
    [QMPIX_COLLECTIVE_REDUCE_SCATTER_BLOCK] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
    [QMPIX_COLLECTIVE_SCAN] = OTF2_COLLECTIVE_OP_SCAN,
    [QMPIX_COLLECTIVE_EXSCAN] = OTF2_COLLECTIVE_OP_EXSCAN,
    [QMPIX_COLLECTIVE_OTHER] = OTF2_COLLECTIVE_OP_BARRIER,
};

/* Returns the collective operation of a function. Functions that create or free objects are
 * collective, too. */
static OTF2_CollectiveOp find_collective_operation(const QMPIX_Traits *traits)
{
    switch (traits->role) {
    case QMPIX_ROLE_COMM_CREATE:
    case QMPIX_ROLE_FILE_OPEN:
        return OTF2_COLLECTIVE_OP_CREATE_HANDLE;
    case QMPIX_ROLE_WIN_CREATE:
        return traits->flags & QMPIX_TRAIT_ALLOCATES ? OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE
                                                     : OTF2_COLLECTIVE_OP_CREATE_HANDLE;
    case QMPIX_ROLE_COMM_FREE:
    case QMPIX_ROLE_WIN_FREE:
    case QMPIX_ROLE_FILE_CLOSE:
        return OTF2_COLLECTIVE_OP_DESTROY_HANDLE;
    default:
        return operations[traits->collective];
    }
}

static OTF2_RegionRole find_role_of_flow(const QMPIX_Traits *traits)
{
    if (traits->collective == QMPIX_COLLECTIVE_BARRIER)
        return OTF2_REGION_ROLE_BARRIER;
    switch (traits->flow) {
    case QMPIX_FLOW_FROM_ROOT:
        return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case QMPIX_FLOW_TO_ROOT:
        return OTF2_REGION_ROLE_COLL_ALL2ONE;
    case QMPIX_FLOW_ALL:
    case QMPIX_FLOW_NEIGHBORS:
        return OTF2_REGION_ROLE_COLL_ALL2ALL;
    default:
        return OTF2_REGION_ROLE_COLL_OTHER;
    }
}

static OTF2_RegionRole find_role_of_group(const char *group)
{
    if (!strcmp(group, "point-to-point") || !strcmp(group, "completion"))
        return OTF2_REGION_ROLE_POINT2POINT;
    if (!strcmp(group, "collective"))
        return OTF2_REGION_ROLE_COLL_OTHER;
    if (!strcmp(group, "one-sided"))
        return OTF2_REGION_ROLE_RMA;
    return !strcmp(group, "I/O") ? OTF2_REGION_ROLE_FILE_IO_METADATA : OTF2_REGION_ROLE_FUNCTION;
}

static OTF2_RmaAtomicType find_atomic(QMPIX_Access access)
{
    if (access == QMPIX_ACCESS_COMPARE_AND_SWAP)
        return OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP;
    return access == QMPIX_ACCESS_FETCH ? OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE
                                        : OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
}

struct trace_plan_traits trace_plan_find_traits(const struct trace_function *function)
{
    QMPIX_Traits traits;
    standard_find_traits(function->name, &traits);
    const bool reads = traits.access == QMPIX_ACCESS_READ;
    const bool writes = traits.access == QMPIX_ACCESS_WRITE;
    return (struct trace_plan_traits){
        .role = traits.role == QMPIX_ROLE_COLLECTIVE ? find_role_of_flow(&traits)
                : reads || writes                    ? OTF2_REGION_ROLE_FILE_IO
                                                     : find_role_of_group(function->group),
        .operation = find_collective_operation(&traits),
        .atomic = find_atomic(traits.access),
        .accesses_file = reads || writes,
        .writes_file = writes,
        .is_collective_access = traits.flags & QMPIX_TRAIT_COLLECTIVE,
    };
}

static uint32_t *make_table(struct trace_plan *plan, struct trace_part_tables *tables,
                            enum trace_part_table table, size_t count)
{
    uint32_t *all = calloc(count + 1, sizeof *all);
    plan->failed |= !all;
    tables->all[table] = all;
    tables->count[table] = all ? count : 0;
    return all;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    const struct trace_plan_rank *one = a, *other = b;
    const int64_t first = one->rank < 0 ? INT64_MAX : one->rank,
                  second = other->rank < 0 ? INT64_MAX : other->rank;
    if (first != second)
        return first < second ? -1 : 1;
    /* Both have no rank. Those that have a part come first, ordered by location. */
    if (!one->part != !other->part)
        return one->part ? -1 : 1;
    return one->location < other->location ? -1 : one->location > other->location;
}

static bool add_rank(struct trace_plan *plan, size_t *room, struct trace_plan_rank rank)
{
    if (!QMPI_MEMORY_RESERVE(plan->ranks, *room, plan->rank_count + 1)) {
        plan->failed = true;
        return false;
    }
    plan->ranks[plan->rank_count++] = rank;
    return true;
}

/* Adds the members of a group that were not added yet. All members with unknown ranks count as
 * one. */
static void add_members(struct trace_plan *plan, size_t *room, struct trace_map *seen,
                        const int *group, int size)
{
    for (int i = 0; group && i < size; i++) {
        const int rank = group[i] < 0 ? TRACE_UNDEFINED : group[i];
        bool is_new = false;
        trace_map_add(seen, &rank, sizeof rank, &is_new);
        if (is_new && !add_rank(plan, room, (struct trace_plan_rank){.rank = rank}))
            return;
    }
}

/* Assigns numbers in the archive to processes that were not recorded. No other process has these
 * numbers. */
static void number_missing(struct trace_plan *plan)
{
    struct trace_map used = {0};
    for (size_t i = 0; i < plan->rank_count; i++) {
        if (plan->ranks[i].part)
            trace_map_add(&used, &plan->ranks[i].location, sizeof(uint64_t), NULL);
    }
    for (size_t i = 0; i < plan->rank_count; i++) {
        struct trace_plan_rank *rank = &plan->ranks[i];
        if (rank->part)
            continue;
        bool is_free = false;
        for (rank->location = rank->rank < 0 ? plan->rank_count : (uint64_t)rank->rank;
             !is_free && !used.failed; rank->location++)
            trace_map_add(&used, &rank->location, sizeof(uint64_t), &is_free);
        rank->location--;
    }
    plan->failed |= used.failed;
    trace_map_clear(&used);
}

static void find_ranks(struct trace_plan *plan)
{
    struct trace_map seen = {0}, comms = {0};
    size_t room = 0, count = 0;
    for (size_t i = 0; i < plan->part_count && !plan->failed; i++) {
        const struct trace_part *part = &plan->parts[i];
        int rank = part->process ? part->process->rank : (int)part->location;
        bool is_new = true;
        if (rank >= 0)
            trace_map_add(&seen, &rank, sizeof rank, &is_new);
        else
            rank = TRACE_UNDEFINED;
        add_rank(plan, &room,
                 (struct trace_plan_rank){is_new ? rank : TRACE_UNDEFINED, part, part->location});
    }
    for (size_t i = 0; i < plan->part_count && !plan->failed; i++) {
        const struct trace_process *process = plan->parts[i].process;
        for (size_t k = 0; process && k < process->comm_count; k++) {
            const struct trace_comm *comm = &process->comms[k];
            bool is_new = true;
            if (comm->id)
                trace_map_add(&comms, &comm->id, sizeof comm->id, &is_new);
            if (is_new) {
                add_members(plan, &room, &seen, comm->group, comm->size);
                add_members(plan, &room, &seen, comm->remote, comm->remote_size);
            }
        }
    }
    plan->failed |= seen.failed || comms.failed;
    count = plan->rank_count;
    trace_map_clear(&seen);
    trace_map_clear(&comms);
    if (count)
        qsort(plan->ranks, count, sizeof *plan->ranks, compare_ranks);
    number_missing(plan);
}

static uint64_t find_rank(const struct trace_plan *plan, int rank)
{
    const struct trace_plan_rank *ranks = plan->ranks;
    if (rank < 0) { /* all unknown ranks are the last element */
        const struct trace_plan_rank *last = plan->rank_count ? &ranks[plan->rank_count - 1] : NULL;
        return last && last->rank < 0 && !last->part ? plan->rank_count - 1 : 0;
    }
    /* The usual case: no lower rank is missing. */
    if ((size_t)rank < plan->rank_count && ranks[rank].rank == rank)
        return (uint64_t)rank;
    size_t begin = 0, end = plan->rank_count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (ranks[middle].rank == rank)
            return middle;
        if (ranks[middle].rank < 0 || ranks[middle].rank > rank)
            end = middle;
        else
            begin = middle + 1;
    }
    return 0;
}

/* ---- Regions --------------------------------------------------------------------------------- */

static uint32_t add_region(struct trace_plan *plan, const struct trace_plan_region *region)
{
    /* The paradigm is part of the key, because a function and a region may have the same name. */
    const size_t length = strlen(region->name);
    char *key = malloc(length + 1);
    bool is_new = false;
    if (!key) {
        plan->failed = true;
        return TRACE_NO_NUMBER;
    }
    key[0] = (char)region->paradigm;
    memcpy(key + 1, region->name, length);
    const uint32_t number = trace_map_add(&plan->region_keys, key, length + 1, &is_new);
    free(key);
    if (!is_new || number == TRACE_NO_NUMBER)
        return number;
    if (!QMPI_MEMORY_RESERVE(plan->regions, plan->region_room, number + 1)) {
        plan->failed = true;
        return TRACE_NO_NUMBER;
    }
    plan->regions[number] = *region;
    return number;
}

static void add_regions(struct trace_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = make_table(plan, &plan->tables[part], ARCHIVE_REGIONS,
                                 process->function_count + process->region_count);
    if (!table)
        return;
    for (size_t i = 0; i < process->function_count; i++) {
        const struct trace_function *function = &process->functions[i];
        *table++ = add_region(plan, &(struct trace_plan_region){
                                        function->name, function->group,
                                        trace_plan_find_traits(function).role, OTF2_PARADIGM_MPI});
    }
    for (size_t i = 0; i < process->region_count; i++)
        *table++ = add_region(
            plan, &(struct trace_plan_region){process->regions[i].name, "MPI_Pcontrol",
                                              OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER});
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void add_counters(struct trace_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table =
        make_table(plan, &plan->tables[part], ARCHIVE_METRICS, process->counter_count);
    for (size_t i = 0; table && i < process->counter_count; i++) {
        const struct trace_counter *counter = &process->counters[i];
        bool is_new;
        table[i] = trace_map_add(&plan->metric_keys, counter->name, strlen(counter->name), &is_new);
        if (table[i] == TRACE_NO_NUMBER || !is_new)
            continue;
        if (!QMPI_MEMORY_RESERVE(plan->metrics, plan->metric_room, table[i] + 1)) {
            plan->failed = true;
            return;
        }
        plan->metrics[table[i]] = counter;
    }
}

/* ---- Communicators --------------------------------------------------------------------------- */

static void number_members(const struct trace_plan *plan, uint64_t *members, const int *group,
                           int size)
{
    for (int i = 0; i < size; i++)
        members[i] = find_rank(plan, group ? group[i] : TRACE_UNDEFINED);
}

/* Adds the group of a communicator. For an intercommunicator, this is the union of both groups. */
static uint32_t add_group(struct trace_plan *plan, const struct trace_comm *comm)
{
    const int remote_size = comm->remote ? comm->remote_size : 0;
    const size_t size = (size_t)comm->size + (size_t)remote_size;
    uint64_t *members = calloc(size + 1, sizeof *members);
    plan->failed |= !members;
    if (!members)
        return TRACE_NO_NUMBER;
    number_members(plan, members + trace_part_local_shift(comm), comm->group, comm->size);
    number_members(plan, members + trace_part_remote_shift(comm), comm->remote, remote_size);
    const uint32_t number = trace_map_add(&plan->groups, members, size * sizeof *members, NULL);
    free(members);
    return number;
}

/* The key of a communicator is its identity, or if it has none, the process and the index in the
 * process. The communicators MPI_COMM_SELF of all processes are the same object. */
struct comm_key {
    uint64_t id, part, index;
};

static bool is_self(const struct trace_comm *comm)
{
    return comm->size == 1 && !comm->remote && !strcmp(comm->name, "MPI_COMM_SELF");
}

static void add_comm(struct trace_plan *plan, size_t part, size_t index, uint32_t *number)
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
        if (!QMPI_MEMORY_RESERVE(plan->comms, plan->comm_room, *number + 1)) {
            plan->failed = true;
            *number = TRACE_NO_NUMBER;
            return;
        }
        plan->comms[*number] = (struct trace_plan_comm){.name = "",
                                                        .parent_id = self ? 0 : comm->parent,
                                                        .group = self ? 0 : add_group(plan, comm),
                                                        .is_self = self};
    }
    struct trace_plan_comm *it = &plan->comms[*number];
    if (!*it->name)
        it->name = comm->name;
    it->has_events |= plan->parts[part].comm_events[index];
}

static void add_comms(struct trace_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = make_table(plan, &plan->tables[part], ARCHIVE_COMMS, process->comm_count);
    for (size_t i = 0; table && i < process->comm_count && !plan->failed; i++)
        add_comm(plan, part, i, &table[i]);
}

/* Assigns a number to a communicator after its parents have numbers. `depth` limits the search for
 * a parent without number, because a damaged trace may contain cycles. */
static void number_comm(struct trace_plan *plan, uint32_t index, size_t *count)
{
    while (plan->comms[index].number == TRACE_NO_NUMBER) {
        uint32_t first = index;
        for (size_t depth = 0; depth < plan->comm_keys.count; depth++) {
            const uint32_t parent = plan->comms[first].parent;
            if (parent == TRACE_NO_NUMBER || plan->comms[parent].number != TRACE_NO_NUMBER)
                break;
            first = parent;
        }
        struct trace_plan_comm *comm = &plan->comms[first];
        if (comm->parent != TRACE_NO_NUMBER && plan->comms[comm->parent].number == TRACE_NO_NUMBER)
            comm->parent = TRACE_NO_NUMBER;
        comm->number = (uint32_t)*count;
        plan->comm_order[(*count)++] = first;
    }
}

static void order_comms(struct trace_plan *plan)
{
    const size_t all = plan->comm_keys.count;
    size_t count = 0;
    plan->comm_order = calloc(all + 1, sizeof *plan->comm_order);
    if (!plan->comm_order) {
        plan->failed = true;
        return;
    }
    for (uint32_t i = 0; i < all; i++) {
        struct trace_plan_comm *comm = &plan->comms[i];
        const struct comm_key key = {comm->parent_id, 0, 0};
        comm->number = TRACE_NO_NUMBER;
        comm->parent =
            comm->parent_id ? trace_map_find(&plan->comm_keys, &key, sizeof key) : TRACE_NO_NUMBER;
    }
    for (uint32_t i = 0; i < all; i++)
        number_comm(plan, i, &count);
    for (size_t i = 0; i < plan->part_count; i++) {
        struct trace_part_tables *tables = &plan->tables[i];
        for (size_t k = 0; k < tables->count[ARCHIVE_COMMS]; k++)
            tables->all[ARCHIVE_COMMS][k] = plan->comms[tables->all[ARCHIVE_COMMS][k]].number;
    }
}

/* ---- Windows and files ----------------------------------------------------------------------- */

struct object_key {
    /* The communicator, and the number of the object among those of the communicator; without
     * communicator, a number for the process, and the index. */
    uint64_t comm, number;
};

/* Returns the key of an object. `seen` counts the objects of each communicator. */
static struct object_key object_key(const struct trace_plan *plan, size_t part, uint32_t comm,
                                    size_t index, uint32_t *seen)
{
    const struct trace_part_tables *tables = &plan->tables[part];
    if (comm >= tables->count[ARCHIVE_COMMS])
        return (struct object_key){UINT64_MAX - part, index};
    return (struct object_key){tables->all[ARCHIVE_COMMS][comm], seen[comm]++};
}

static void add_windows(struct trace_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = make_table(plan, &plan->tables[part], ARCHIVE_WINDOWS, process->window_count);
    uint32_t *seen = calloc(process->comm_count + 1, sizeof *seen);
    plan->failed |= !seen;
    for (size_t i = 0; table && seen && i < process->window_count; i++) {
        const struct trace_window *window = &process->windows[i];
        const struct object_key key = object_key(plan, part, window->comm, i, seen);
        bool is_new;
        table[i] = trace_map_add(&plan->window_keys, &key, sizeof key, &is_new);
        if (table[i] == TRACE_NO_NUMBER)
            break;
        if (!QMPI_MEMORY_RESERVE(plan->windows, plan->window_room, table[i] + 1)) {
            plan->failed = true;
            break;
        }
        if (is_new)
            plan->windows[table[i]] = (struct trace_plan_window){
                .name = "",
                .comm = key.comm < plan->comm_keys.count ? (uint32_t)key.comm : TRACE_NO_NUMBER};
        if (!*plan->windows[table[i]].name)
            plan->windows[table[i]].name = window->name;
        plan->windows[table[i]].has_events |= plan->parts[part].window_events[i];
    }
    free(seen);
}

static void add_files(struct trace_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = make_table(plan, &plan->tables[part], ARCHIVE_FILES, process->file_count);
    uint32_t *seen = calloc(process->comm_count + 1, sizeof *seen);
    plan->failed |= !seen;
    for (size_t i = 0; table && seen && i < process->file_count; i++) {
        const struct trace_file *file = &process->files[i];
        const struct object_key key = object_key(plan, part, file->comm, i, seen);
        bool is_new;
        table[i] = trace_map_add(&plan->file_keys, &key, sizeof key, &is_new);
        if (table[i] == TRACE_NO_NUMBER || !is_new)
            continue;
        if (!QMPI_MEMORY_RESERVE(plan->files, plan->file_room, table[i] + 1)) {
            plan->failed = true;
            break;
        }
        plan->files[table[i]] = (struct trace_plan_file){
            trace_map_add(&plan->file_names, file->name, strlen(file->name), NULL),
            key.comm < plan->comm_keys.count ? (uint32_t)key.comm : TRACE_NO_NUMBER};
    }
    free(seen);
}

/* ---- Call sites: source lines, and calling contexts if more than the caller was recorded ----- */

struct trace_plan_frame {
    uint32_t function, file; /* indices in `texts` */
    uint32_t line;
};

static uint32_t add_text(struct trace_plan *plan, const char *text)
{
    return trace_map_add(&plan->texts, text, strlen(text), NULL);
}

/* Returns whether a library is unchanged since the run. After a rebuild, the addresses would belong
 * to other lines. */
static bool is_unchanged(const struct trace_plan *plan, const char *library)
{
    struct stat status;
    return stat(library, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtime <= plan->started / 1000000000;
}

static void resolve_frame(struct trace_plan *plan, const char *library, uint64_t offset,
                          struct trace_plan_frame *frame)
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
        /* The first frame is the innermost function, which contains the call in the source. */
        const char *function = count > 0 && found[0].function ? found[0].function : address;
        const char *file = count > 0 && found[0].file ? found[0].file : address;
        *frame =
            (struct trace_plan_frame){add_text(plan, function), add_text(plan, file),
                                      count > 0 && found[0].file ? (uint32_t)found[0].line : 0};
    }
    free(address);
    for (int i = 0; i < count; i++) {
        free((char *)(uintptr_t)found[i].function);
        free((char *)(uintptr_t)found[i].file);
    }
    free(found);
}

static const struct trace_plan_frame *find_frame(struct trace_plan *plan,
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
    if (!QMPI_MEMORY_RESERVE(plan->frames, plan->frame_room, number + 1)) {
        plan->failed = true;
        return NULL;
    }
    if (is_new)
        resolve_frame(plan, library, frame->offset, &plan->frames[number]);
    return &plan->frames[number];
}

static uint32_t add_source_place(struct trace_plan *plan, const struct trace_plan_frame *frame)
{
    const struct trace_plan_place place = {frame->file, frame->line};
    bool is_new = false;
    const uint32_t number = trace_map_add(&plan->place_keys, &place, sizeof place, &is_new);
    if (number == TRACE_NO_NUMBER || !is_new)
        return number;
    if (QMPI_MEMORY_RESERVE(plan->places, plan->place_room, number + 1))
        plan->places[number] = place;
    else
        plan->failed = true;
    return number;
}

static uint32_t add_context(struct trace_plan *plan, const struct trace_plan_frame *frame,
                            uint32_t parent)
{
    if (plan->failed || frame->function == TRACE_NO_NUMBER)
        return TRACE_NO_NUMBER;
    const struct trace_plan_context context = {
        add_region(plan,
                   &(struct trace_plan_region){plan->texts.keys[frame->function].data, "",
                                               OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_SAMPLING}),
        add_source_place(plan, frame), parent};
    bool is_new = false;
    const uint32_t number = trace_map_add(&plan->context_keys, &context, sizeof context, &is_new);
    if (number == TRACE_NO_NUMBER || !is_new)
        return number;
    if (QMPI_MEMORY_RESERVE(plan->contexts, plan->context_room, number + 1))
        plan->contexts[number] = context;
    else
        plan->failed = true;
    return number;
}

/* Adds a site. Its first frame, the caller of MPI, becomes a leaf of the tree of contexts. */
static void add_site_contexts(struct trace_plan *plan, const struct trace_process *process,
                              const struct trace_site *site, uint32_t *place, uint32_t *context)
{
    uint32_t parent = TRACE_NO_NUMBER;
    for (size_t i = site->count; i-- > 0 && !plan->failed;) {
        const struct trace_plan_frame *frame = find_frame(plan, process, &site->frames[i]);
        if (!frame)
            return;
        const struct trace_plan_frame known = *frame;
        if (site->count > 1)
            parent = add_context(plan, &known, parent);
        if (i == 0)
            *place = add_source_place(plan, &known);
    }
    *context = parent == TRACE_NO_NUMBER ? 0 : parent; /* not used if there is no context */
}

static void add_sites(struct trace_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    struct trace_part_tables *tables = &plan->tables[part];
    uint32_t *places = make_table(plan, tables, ARCHIVE_PLACES, process->site_count);
    uint32_t *contexts = make_table(plan, tables, ARCHIVE_CONTEXTS, process->site_count);
    for (size_t i = 0; places && contexts && i < process->site_count && !plan->failed; i++)
        add_site_contexts(plan, process, &process->sites[i], &places[i], &contexts[i]);
}

static void free_frames(struct trace_plan *plan)
{
    free(plan->frames);
    plan->frames = NULL;
    symbols_close();
}

/* ---- The plan -------------------------------------------------------------------------------- */

static void find_times(struct trace_plan *plan)
{
    bool is_first = true;
    /* The lowest rank so far. As unsigned numbers, unknown ranks are the highest. */
    unsigned rank = 0;
    for (size_t i = 0; i < plan->part_count; i++) {
        const struct trace_part *part = &plan->parts[i];
        if (!part->process)
            continue;
        plan->bound = part->bound > plan->bound ? part->bound : plan->bound;
        const int64_t end = trace_clock_add(part->base, part->end);
        if (is_first || end > plan->end)
            plan->end = end;
        if (is_first || part->base < plan->base) {
            if (!is_first)
                plan->started = trace_clock_subtract(plan->started,
                                                     trace_clock_subtract(plan->base, part->base));
            plan->base = part->base;
        }
        if (is_first || (unsigned)part->process->rank < rank) {
            rank = (unsigned)part->process->rank;
            plan->started =
                trace_clock_add(part->started, trace_clock_subtract(plan->base, part->base));
        }
        is_first = false;
    }
}

void trace_plan_make(struct trace_plan *plan, const struct trace_part *parts, size_t count)
{
    *plan = (struct trace_plan){.parts = parts, .part_count = count};
    plan->tables = calloc(count + 1, sizeof *plan->tables);
    if (!plan->tables) {
        plan->failed = true;
        return;
    }
    find_times(plan);
    find_ranks(plan);
    trace_map_add(&plan->groups, NULL, 0, NULL); /* the group of MPI_COMM_SELF is the first */
    for (size_t i = 0; i < count && !plan->failed; i++) {
        plan->tables[i].bound = plan->bound;
        plan->tables[i].length = (uint64_t)trace_clock_subtract(plan->end, plan->base);
        if (!parts[i].process)
            continue;
        trace_map_add(&plan->hosts, parts[i].process->host, strlen(parts[i].process->host), NULL);
        add_regions(plan, i);
        add_counters(plan, i);
        add_comms(plan, i);
        add_windows(plan, i);
        add_files(plan, i);
        add_sites(plan, i);
    }
    if (!plan->failed)
        order_comms(plan);
    const struct trace_map *maps[] = {&plan->hosts,      &plan->region_keys, &plan->comm_keys,
                                      &plan->groups,     &plan->window_keys, &plan->file_keys,
                                      &plan->file_names, &plan->metric_keys, &plan->texts,
                                      &plan->frame_keys, &plan->place_keys,  &plan->context_keys};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        plan->failed |= maps[i]->failed;
}

void trace_plan_clear(struct trace_plan *plan)
{
    for (size_t i = 0; plan->tables && i < plan->part_count; i++)
        trace_part_clear_tables(&plan->tables[i]);
    free_frames(plan);
    struct trace_map *maps[] = {&plan->hosts,      &plan->region_keys, &plan->comm_keys,
                                &plan->groups,     &plan->window_keys, &plan->file_keys,
                                &plan->file_names, &plan->metric_keys, &plan->texts,
                                &plan->frame_keys, &plan->place_keys,  &plan->context_keys};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        trace_map_clear(maps[i]);
    void *arrays[] = {plan->tables,  plan->ranks, plan->regions, plan->comms,  plan->comm_order,
                      plan->windows, plan->files, plan->metrics, plan->places, plan->contexts};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    *plan = (struct trace_plan){0};
}
