/* SPDX-License-Identifier: MIT */
/* An observer of all functions. Checks that the callback at the end of a call gets the word that
 * the callback at the beginning has stored. */
#include "tool.h"

#include <qmpi/observer.h>

struct layer {
    int tool_id;
};
static struct layer layers[256];

static unsigned long long word_of(const struct layer *layer, const QMPIX_Call *call)
{
    return (unsigned long long)layer->tool_id << 32 | (unsigned long long)call->function->number;
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    const int number = call->function->number;
    void *address = NULL;
    storm_seen(layer->tool_id, number);
    if (call->context->tool_id != layer->tool_id || call->context->function_id != number ||
        call->result || word->number)
        storm_wrong(ledger, "layer %d, function %d: another call's record", layer->tool_id, number);
    QMPIX_Call_get_caller(call, &address);
    storm_check_caller(layer->tool_id, number, address);
    word->number = word_of(layer, call);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    if (word->number != word_of(layer, call) || !call->result)
        storm_wrong(ledger, "layer %d, function %d: another call's word", layer->tool_id,
                    call->function->number);
}

static void init(int tool_id)
{
    const QMPIX_Observer observer = {
        .size = sizeof observer, .before = before, .after = after, .data = &layers[tool_id]};
    layers[tool_id].tool_id = tool_id;
    storm_add(&ledger->layer[tool_id].inits, 1);
    for (int i = 0; i < STORM_FUNCTIONS; i++)
        storm_takes(tool_id, i);
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    ledger = storm_open_ledger();
    QMPI_Register_tool_name("storm_observer", init);
}
