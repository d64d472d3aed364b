/* SPDX-License-Identifier: MIT */
/* See plan.h: functions, regions, counters, and all together. */
#include "trace/otf2/plan.h"

#include "trace/otf2/functions.h"
#include "trace/otf2/plan_parts.h"

#include <stdlib.h>
#include <string.h>

uint32_t *plan_table(struct archive_plan *plan, struct archive_tables *tables,
                     enum archive_table table, size_t count)
{
    uint32_t *all = calloc(count + 1, sizeof *all);
    plan->failed |= !all;
    tables->all[table] = all;
    tables->count[table] = all ? count : 0;
    return all;
}

/* ---- Regions --------------------------------------------------------------------------------- */

uint32_t plan_add_region(struct archive_plan *plan, const struct archive_region *region)
{
    /* A function and a region of the program may have one name. */
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
    struct archive_region *regions =
        trace_grow(plan->regions, number, &plan->region_room, sizeof *regions);
    if (!regions) {
        plan->failed = true;
        return TRACE_NO_NUMBER;
    }
    plan->regions = regions;
    regions[number] = *region;
    return number;
}

static void add_regions(struct archive_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table = plan_table(plan, &plan->tables[part], ARCHIVE_REGIONS,
                                 process->function_count + process->region_count);
    if (!table)
        return;
    for (size_t i = 0; i < process->function_count; i++) {
        const struct trace_function *function = &process->functions[i];
        *table++ = plan_add_region(plan, &(struct archive_region){function->name, function->group,
                                                                  archive_describe(function).role,
                                                                  OTF2_PARADIGM_MPI});
    }
    for (size_t i = 0; i < process->region_count; i++)
        *table++ = plan_add_region(
            plan, &(struct archive_region){process->regions[i].name, "MPI_Pcontrol",
                                           OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER});
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void add_counters(struct archive_plan *plan, size_t part)
{
    const struct trace_process *process = plan->parts[part].process;
    uint32_t *table =
        plan_table(plan, &plan->tables[part], ARCHIVE_METRICS, process->counter_count);
    for (size_t i = 0; table && i < process->counter_count; i++) {
        const struct trace_counter *counter = &process->counters[i];
        bool is_new;
        table[i] = trace_map_add(&plan->metric_keys, counter->name, strlen(counter->name), &is_new);
        if (table[i] == TRACE_NO_NUMBER || !is_new)
            continue;
        const struct trace_counter **metrics =
            trace_grow(plan->metrics, table[i], &plan->metric_room, sizeof *metrics);
        plan->failed |= !metrics;
        if (!metrics)
            return;
        plan->metrics = metrics;
        metrics[table[i]] = counter;
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

static void find_times(struct archive_plan *plan)
{
    bool is_first = true;
    unsigned rank = 0; /* those that are not known are the last */
    for (size_t i = 0; i < plan->part_count; i++) {
        const struct archive_part *part = &plan->parts[i];
        if (!part->process)
            continue;
        plan->bound = part->bound > plan->bound ? part->bound : plan->bound;
        const int64_t end = archive_add_times(part->base, part->end);
        if (is_first || end > plan->end)
            plan->end = end;
        if (is_first || part->base < plan->base) {
            if (!is_first)
                plan->started = archive_subtract_times(
                    plan->started, archive_subtract_times(plan->base, part->base));
            plan->base = part->base;
        }
        if (is_first || (unsigned)part->process->rank < rank) {
            rank = (unsigned)part->process->rank;
            plan->started =
                archive_add_times(part->started, archive_subtract_times(plan->base, part->base));
        }
        is_first = false;
    }
}

void archive_plan_make(struct archive_plan *plan, const struct archive_part *parts, size_t count)
{
    *plan = (struct archive_plan){.parts = parts, .part_count = count};
    plan->tables = calloc(count + 1, sizeof *plan->tables);
    if (!plan->tables) {
        plan->failed = true;
        return;
    }
    find_times(plan);
    plan_find_ranks(plan);
    trace_map_add(&plan->groups, NULL, 0, NULL); /* that of MPI_COMM_SELF */
    for (size_t i = 0; i < count && !plan->failed; i++) {
        plan->tables[i].bound = plan->bound;
        plan->tables[i].length = (uint64_t)archive_subtract_times(plan->end, plan->base);
        if (!parts[i].process)
            continue;
        trace_map_add(&plan->hosts, parts[i].process->host, strlen(parts[i].process->host), NULL);
        add_regions(plan, i);
        add_counters(plan, i);
        plan_add_comms(plan, i);
        plan_add_windows(plan, i);
        plan_add_files(plan, i);
        plan_add_sites(plan, i);
    }
    if (!plan->failed)
        plan_order_comms(plan);
    const struct trace_map *maps[] = {&plan->hosts,      &plan->region_keys, &plan->comm_keys,
                                      &plan->groups,     &plan->window_keys, &plan->file_keys,
                                      &plan->file_names, &plan->metric_keys, &plan->texts,
                                      &plan->frame_keys, &plan->place_keys,  &plan->context_keys};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        plan->failed |= maps[i]->failed;
}

void archive_plan_clear(struct archive_plan *plan)
{
    for (size_t i = 0; plan->tables && i < plan->part_count; i++)
        archive_tables_clear(&plan->tables[i]);
    plan_free_frames(plan);
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
    *plan = (struct archive_plan){0};
}
