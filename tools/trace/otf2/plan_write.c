/* SPDX-License-Identifier: MIT */
/*
 * Writes the global definitions of a plan: see plan.h. Readers expect the numbers of each kind in
 * ascending order without gaps, and each definition after those to which it refers.
 */
#define _GNU_SOURCE
#include "tools/trace/otf2/plan.h"

#include "tools/trace/file/event.h"
#include "tools/trace/file/reader.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct definitions {
    const struct trace_plan *plan;
    OTF2_GlobalDefWriter *writer;
    struct trace_map strings;
    OTF2_ErrorCode error; /* the first error */
};

static void check_definition(struct definitions *it, OTF2_ErrorCode error)
{
    if (it->error == OTF2_SUCCESS)
        it->error = error;
}

/* Returns the number of a string, and writes it if it is new. Readers refuse strings that are not
 * UTF-8, so invalid bytes are replaced by U+FFFD; such a string may be cut off. */
static OTF2_StringRef put_string(struct definitions *it, const char *text)
{
    char room[1024];
    const char *valid = qmpi_text_make_valid(text, room, sizeof room);
    bool is_new = false;
    const uint32_t number = trace_map_add(&it->strings, valid, strlen(valid), &is_new);
    if (is_new)
        check_definition(it, OTF2_GlobalDefWriter_WriteString(it->writer, number, valid));
    return number;
}

static void put_times(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    const uint64_t started = plan->started > 0 ? (uint64_t)plan->started : OTF2_UNDEFINED_TIMESTAMP;
    check_definition(it, OTF2_GlobalDefWriter_WriteClockProperties(
                             it->writer, 1000000000, 0,
                             (uint64_t)trace_clock_subtract(plan->end, plan->base), started));
}

static void put_paradigm(struct definitions *it, OTF2_Paradigm paradigm, const char *name)
{
    check_definition(it,
                     OTF2_GlobalDefWriter_WriteParadigm(it->writer, paradigm, put_string(it, name),
                                                        OTF2_PARADIGM_CLASS_PROCESS));
}

/* Writes the template by which readers name objects that have no name. */
static void put_template(struct definitions *it, OTF2_ParadigmProperty property, const char *text)
{
    OTF2_AttributeValue value;
    value.stringRef = put_string(it, text);
    check_definition(it, OTF2_GlobalDefWriter_WriteParadigmProperty(
                             it->writer, OTF2_PARADIGM_MPI, property, OTF2_TYPE_STRING, value));
}

static void put_paradigms(struct definitions *it)
{
    OTF2_AttributeValue value;
    value.uint8 = OTF2_FALSE;
    put_paradigm(it, OTF2_PARADIGM_USER, "USER");
    put_paradigm(it, OTF2_PARADIGM_MPI, "MPI");
    put_template(it, OTF2_PARADIGM_PROPERTY_COMM_NAME_TEMPLATE, "MPI Communicator ${id}");
    put_template(it, OTF2_PARADIGM_PROPERTY_RMA_WIN_NAME_TEMPLATE, "MPI Window ${id}");
    check_definition(it, OTF2_GlobalDefWriter_WriteParadigmProperty(it->writer, OTF2_PARADIGM_MPI,
                                                                    OTF2_PARADIGM_PROPERTY_RMA_ONLY,
                                                                    OTF2_TYPE_UINT8, value));
    if (it->plan->file_keys.count)
        check_definition(it, OTF2_GlobalDefWriter_WriteIoParadigm(
                                 it->writer, 0, put_string(it, "MPI-IO"), put_string(it, "MPI-IO"),
                                 OTF2_IO_PARADIGM_CLASS_PARALLEL, OTF2_IO_PARADIGM_FLAG_NONE, 0,
                                 NULL, NULL, NULL));
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void put_nodes(struct definitions *it)
{
    const struct trace_map *hosts = &it->plan->hosts;
    check_definition(it, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                             it->writer, 0, put_string(it, "machine"), put_string(it, "machine"),
                             OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    check_definition(it, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
                             it->writer, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    for (uint32_t i = 0; i < hosts->count; i++) {
        check_definition(it, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                                 it->writer, i + 1, put_string(it, hosts->keys[i].data),
                                 put_string(it, "node"), 0));
        check_definition(it, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
                                 it->writer, i + 1, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
}

static uint32_t put_name(struct definitions *it, const struct trace_plan_rank *rank)
{
    char *name = NULL;
    const struct trace_process *process = rank->part ? rank->part->process : NULL;
    if (rank->rank < 0 && !process)
        return put_string(it, "other processes");
    const int length = rank->rank >= 0 ? asprintf(&name, "MPI Rank %d", rank->rank)
                                       : asprintf(&name, "Process %lld on %s",
                                                  (long long)process->pid, process->host);
    const uint32_t number = length >= 0 ? put_string(it, name) : 0;
    if (length >= 0)
        free(name);
    else
        check_definition(it, OTF2_ERROR_MEM_ALLOC_FAILED);
    return number;
}

/* Writes, as properties of a process, what OTF2 has no records for. */
static void put_properties(struct definitions *it, uint32_t group,
                           const struct trace_process *process)
{
    static const char *const ends[] = {"unknown", "MPI_Finalize", "exit", "MPI_Abort", "signal"};
    OTF2_AttributeValue value;
    if (process->dropped) {
        value.uint64 = process->dropped;
        check_definition(it, OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                                 it->writer, group, put_string(it, "QMPI::Dropped Events"),
                                 OTF2_TYPE_UINT64, value));
    }
    if (process->end != TRACE_END_FINALIZE) {
        value.stringRef =
            put_string(it, process->end_detail ? process->end_detail : ends[process->end]);
        check_definition(
            it, OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                    it->writer, group, put_string(it, "QMPI::End"), OTF2_TYPE_STRING, value));
    }
}

static void put_processes(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    for (uint32_t i = 0; i < plan->rank_count; i++) {
        const struct trace_part *part = plan->ranks[i].part;
        const struct trace_process *process = part ? part->process : NULL;
        const uint32_t node =
            process ? 1 + trace_map_find(&plan->hosts, process->host, strlen(process->host)) : 0;
        check_definition(it, OTF2_GlobalDefWriter_WriteLocationGroup(
                                 it->writer, i, put_name(it, &plan->ranks[i]),
                                 OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                 OTF2_UNDEFINED_LOCATION_GROUP));
        if (process)
            put_properties(it, i, process);
    }
    for (uint32_t i = 0; i < plan->rank_count; i++) {
        const struct trace_part *part = plan->ranks[i].part;
        const struct trace_process *process = part ? part->process : NULL;
        const size_t threads = part ? trace_part_thread_count(part) : 1;
        for (size_t k = 0; k < threads; k++) {
            const char *name =
                process && k < process->location_count ? process->locations[k].name : "main thread";
            check_definition(it, OTF2_GlobalDefWriter_WriteLocation(
                                     it->writer,
                                     part ? trace_part_location(part, k) : plan->ranks[i].location,
                                     put_string(it, name), OTF2_LOCATION_TYPE_CPU_THREAD,
                                     part ? part->events[k] : 1, i));
        }
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void put_attributes(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    if (plan->place_keys.count)
        check_definition(it, OTF2_GlobalDefWriter_WriteAttribute(
                                 it->writer, PLAN_ATTRIBUTE_SITE, put_string(it, "call site"),
                                 put_string(it, "the source line of the call"),
                                 OTF2_TYPE_SOURCE_CODE_LOCATION));
    if (plan->context_keys.count)
        check_definition(it,
                         OTF2_GlobalDefWriter_WriteAttribute(
                             it->writer, PLAN_ATTRIBUTE_CONTEXT, put_string(it, "call path"),
                             put_string(it, "the callers of the call"), OTF2_TYPE_CALLING_CONTEXT));
}

static void put_calls(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    for (uint32_t i = 0; i < plan->place_keys.count; i++) {
        const struct trace_plan_place *place = &plan->places[i];
        check_definition(it, OTF2_GlobalDefWriter_WriteSourceCodeLocation(
                                 it->writer, i, put_string(it, plan->texts.keys[place->file].data),
                                 place->line));
    }
    for (uint32_t i = 0; i < plan->region_keys.count; i++) {
        const struct trace_plan_region *region = &plan->regions[i];
        const uint32_t name = put_string(it, region->name);
        check_definition(it, OTF2_GlobalDefWriter_WriteRegion(
                                 it->writer, i, name, name, put_string(it, region->description),
                                 region->role, region->paradigm, OTF2_REGION_FLAG_NONE,
                                 OTF2_UNDEFINED_STRING, 0, 0));
    }
    for (uint32_t i = 0; i < plan->context_keys.count; i++) {
        const struct trace_plan_context *context = &plan->contexts[i];
        check_definition(it, OTF2_GlobalDefWriter_WriteCallingContext(
                                 it->writer, i, context->region, context->place,
                                 context->parent == TRACE_NO_NUMBER ? OTF2_UNDEFINED_CALLING_CONTEXT
                                                                    : context->parent));
    }
}

static void put_metrics(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    for (uint32_t i = 0; i < plan->metric_keys.count; i++) {
        const struct trace_counter *counter = plan->metrics[i];
        const OTF2_MetricMode mode =
            counter->accumulates ? OTF2_METRIC_ACCUMULATED_START : OTF2_METRIC_ABSOLUTE_POINT;
        check_definition(it, OTF2_GlobalDefWriter_WriteMetricMember(
                                 it->writer, i, put_string(it, counter->name),
                                 put_string(it, counter->description), OTF2_METRIC_TYPE_OTHER, mode,
                                 OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0,
                                 put_string(it, counter->unit)));
        check_definition(it, OTF2_GlobalDefWriter_WriteMetricClass(it->writer, i, 1, &i,
                                                                   OTF2_METRIC_ASYNCHRONOUS,
                                                                   OTF2_RECORDER_KIND_CPU));
    }
}

/* ---- Communication --------------------------------------------------------------------------- */

static void put_locations(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    uint64_t *members = calloc(plan->rank_count + 1, sizeof *members);
    if (!members) {
        check_definition(it, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    for (size_t i = 0; i < plan->rank_count; i++)
        members[i] = plan->ranks[i].location;
    check_definition(it, OTF2_GlobalDefWriter_WriteGroup(it->writer, 0, put_string(it, "MPI"),
                                                         OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                                         OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                                         (uint32_t)plan->rank_count, members));
    free(members);
}

/* Writes the groups. The first group in the plan is the group of MPI_COMM_SELF. */
static void put_groups(struct definitions *it)
{
    const struct trace_map *groups = &it->plan->groups;
    put_locations(it);
    for (uint32_t i = 0; i < groups->count; i++)
        check_definition(it, OTF2_GlobalDefWriter_WriteGroup(
                                 it->writer, i + 1, put_string(it, ""),
                                 i ? OTF2_GROUP_TYPE_COMM_GROUP : OTF2_GROUP_TYPE_COMM_SELF,
                                 OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                 (uint32_t)(groups->keys[i].size / sizeof(uint64_t)),
                                 groups->keys[i].data));
}

static OTF2_CommRef comm_number(const struct definitions *it, uint32_t comm)
{
    return comm == TRACE_NO_NUMBER ? OTF2_UNDEFINED_COMM : it->plan->comms[comm].number;
}

static void put_comms(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    for (uint32_t i = 0; i < plan->comm_keys.count; i++) {
        const struct trace_plan_comm *comm = &plan->comms[plan->comm_order[i]];
        const OTF2_CommFlag flags =
            comm->has_events ? OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS : OTF2_COMM_FLAG_NONE;
        const uint32_t name = put_string(it, comm->name), parent = comm_number(it, comm->parent);
        check_definition(it, OTF2_GlobalDefWriter_WriteComm(it->writer, i, name, comm->group + 1,
                                                            parent, flags));
    }
}

static void put_objects(struct definitions *it)
{
    const struct trace_plan *plan = it->plan;
    for (uint32_t i = 0; i < plan->window_keys.count; i++) {
        const struct trace_plan_window *window = &plan->windows[i];
        check_definition(it, OTF2_GlobalDefWriter_WriteRmaWin(
                                 it->writer, i, put_string(it, window->name),
                                 comm_number(it, window->comm),
                                 window->has_events ? OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS
                                                    : OTF2_RMA_WIN_FLAG_NONE));
    }
    for (uint32_t i = 0; i < plan->file_names.count; i++)
        check_definition(it, OTF2_GlobalDefWriter_WriteIoRegularFile(
                                 it->writer, i, put_string(it, plan->file_names.keys[i].data), 0));
    for (uint32_t i = 0; i < plan->file_keys.count; i++) {
        const struct trace_plan_file *file = &plan->files[i];
        check_definition(it,
                         OTF2_GlobalDefWriter_WriteIoHandle(
                             it->writer, i, put_string(it, plan->file_names.keys[file->name].data),
                             file->name, 0, OTF2_IO_HANDLE_FLAG_NONE, comm_number(it, file->comm),
                             OTF2_UNDEFINED_IO_HANDLE));
    }
}

bool trace_plan_write(const struct trace_plan *plan, OTF2_GlobalDefWriter *writer)
{
    struct definitions it = {.plan = plan, .writer = writer};
    put_times(&it);
    put_string(&it, ""); /* this string has number 0 */
    put_paradigms(&it);
    put_attributes(&it);
    put_nodes(&it);
    put_processes(&it);
    put_calls(&it);
    put_metrics(&it);
    put_groups(&it);
    put_comms(&it);
    put_objects(&it);
    const bool good = it.error == OTF2_SUCCESS && !it.strings.failed;
    trace_map_clear(&it.strings);
    return good;
}
