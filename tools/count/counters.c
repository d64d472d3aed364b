/* SPDX-License-Identifier: MIT */
/* See counters.h. */
#include "counters.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

static struct counters_table *all[256]; /* [tool_id] */

void counters_start(void)
{
    thread_level_start(sizeof(struct counters_thread), NULL);
}

static struct counters_table *add_table(int tool_id)
{
    static int said;
    struct counters_thread *thread = (struct counters_thread *)thread_level_current;
    if (!thread)
        thread = (struct counters_thread *)thread_level_find(__builtin_frame_address(0));
    if (thread && thread->tables[tool_id])
        return thread->tables[tool_id];
    struct counters_table *table = thread ? qmpi_arena_take(sizeof *table) : NULL;
    if (table) {
        table->next = __atomic_load_n(&all[tool_id], __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&all[tool_id], &table->next, table, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            continue;
        thread->tables[tool_id] = table;
    } else if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        qmpi_printf("count: out of memory: the calls of a thread are not counted");
    }
    return table;
}

void counters_note_first(int tool_id, int number)
{
    struct counters_table *table = add_table(tool_id);
    if (table)
        tool_add(&table->calls[number], 1);
}

void counters_sum(int tool_id, unsigned long long calls[MPI_LAST_FUNC])
{
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        calls[number] = counters_get(tool_id, number);
}

/* Tables are only added, each when it is complete, so no lock is needed. */
unsigned long long counters_get(int tool_id, int number)
{
    unsigned long long calls = 0;
    const struct counters_table *table = __atomic_load_n(&all[tool_id], __ATOMIC_ACQUIRE);
    for (; table; table = table->next)
        calls += __atomic_load_n(&table->calls[number], __ATOMIC_RELAXED);
    return calls;
}
