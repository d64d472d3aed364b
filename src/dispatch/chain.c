/* SPDX-License-Identifier: MIT */
/* See chain.h. */
#include "chain.h"

#include "message.h"

#include <stdint.h>

_Thread_local void *qmpi_caller;
_Thread_local QMPI_Context qmpi_position;
QMPI_Context qmpi_heads[QMPI_FUNCTION_COUNT];
QMPI_Context qmpi_first_natives[QMPI_FUNCTION_COUNT];

/* Default visibility: the inline functions of <qmpi/qmpi.h> read it from inside tools. */
struct QMPIX_Stack QMPIX_stack;

static struct QMPIX_Node base_nodes[QMPI_FUNCTION_COUNT];
static QMPI_Context **rows; /* QMPIX_stack.below, writable */

void qmpi_chain_start(int layers)
{
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_ends[number].base)
            continue;
        base_nodes[number] =
            (struct QMPIX_Node){.function = qmpi_ends[number].base, .function_id = number};
        qmpi_heads[number] = &base_nodes[number];
    }
    rows = qmpi_allocate((size_t)layers + 1, sizeof *rows);
    QMPIX_stack.below = (const QMPI_Context *const *)rows;
    QMPIX_stack.functions = QMPI_FUNCTION_COUNT;
    QMPIX_stack.layers = layers;
}

void qmpi_chain_show(int tool_id)
{
    QMPI_Context *row = qmpi_allocate(QMPI_FUNCTION_COUNT, sizeof *row);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        row[number] = qmpi_heads[number];
    rows[tool_id] = row;
}

void qmpi_chain_add(int tool_id, qmpi_function *const *functions, bool hosted)
{
    size_t count = 0;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        count += functions[number] && qmpi_heads[number];
    struct QMPIX_Node *node = count ? qmpi_allocate(count, sizeof *node) : NULL;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!functions[number] || !qmpi_heads[number])
            continue;
        *node =
            (struct QMPIX_Node){.function = hosted ? qmpi_ends[number].hosted : functions[number],
                                .next = qmpi_heads[number],
                                .tool_id = tool_id,
                                .function_id = number,
                                .data = hosted ? (const void *)(uintptr_t)functions[number] : NULL};
        if (!hosted)
            qmpi_first_natives[number] = node;
        qmpi_heads[number] = node++;
    }
    qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d intercepts %zu functions", tool_id, count);
}

/* A hosted tool on top is called by the program itself: tools that walk the stack see its call
 * site. */
qmpi_function *qmpi_chain_way(int number)
{
    const QMPI_Context head = qmpi_heads[number];
    if (!head->next)
        return qmpi_bases[number];
    return head->data ? (qmpi_function *)(uintptr_t)head->data : qmpi_ends[number].enter;
}

static bool published;

bool qmpi_chain_is_open(void)
{
    return __atomic_load_n(&published, __ATOMIC_ACQUIRE);
}

void qmpi_chain_publish(void)
{
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_ends[number].enter)
            continue;
        __atomic_store_n(&qmpi_slots[number], qmpi_chain_way(number), __ATOMIC_RELEASE);
        __atomic_store_n(&qmpi_pmpi_slots[number], qmpi_bases[number], __ATOMIC_RELEASE);
    }
    __atomic_store_n(&published, true, __ATOMIC_RELEASE);
}
