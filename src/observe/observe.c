/* SPDX-License-Identifier: MIT */
/* See observe.h. */
#include "observe/observe.h"

#include "clock/clock.h"
#include "observe/comm_id.h"
#include "observe/descriptions.h"
#include "observe/semantics.h"
#include "registry/registry.h"
#include "util/util.h"

#include <qmpi/clock.h>

#include <string.h>

enum { ALL_GROUPS = 2 * QMPIX_GROUP_TOOL_INFORMATION - 1 };
enum { ALL_FLAGS = 2 * QMPIX_OBSERVE_COMMS - 1 };

QMPIX_Observer qmpi_observers[QMPI_LAYERS_MAX + 1];

/* [tool_id][number]: the functions that the observer asked for. */
static unsigned char *wanted[QMPI_LAYERS_MAX + 1];

/* [tool_id]: the layer requested the offsets of clocks, which are measured before MPI_Finalize. */
static bool offsets[QMPI_LAYERS_MAX + 1];

void qmpi_observe_nothing(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)call;
    (void)word;
}

bool qmpi_observe_wanted(int tool_id, int number)
{
    return wanted[tool_id][number];
}

static bool chosen(const QMPIX_Observer *observer, int number)
{
    if (!observer->groups && !observer->function_count)
        return true;
    if (qmpi_described[number].group & observer->groups)
        return true;
    for (int i = 0; i < observer->function_count; i++) {
        if ((int)observer->functions[i] == number)
            return true;
    }
    return false;
}

/* MPI_Start tells nothing but a request: what it starts was said when the request was made. So it
 * is with MPI_Mrecv and the probe. The shape of those for whose sake a function is watched: */
static unsigned serves(int number)
{
    if (qmpi_meanings[number].shape == QMPI_SHAPE_MATCHED_PROBE)
        return QMPI_SHAPE_MATCHED_RECEIVE;
    if (qmpi_meanings[number].persistent || number == MPI_REQUEST_FREE_T)
        return QMPI_SHAPE_START;
    return QMPI_SHAPE_NONE;
}

static bool is_valid(const QMPIX_Observer *observer)
{
    if (!observer || observer->size < sizeof *observer || observer->function_count < 0 ||
        (observer->function_count && !observer->functions) || observer->groups & ~ALL_GROUPS ||
        observer->flags & ~(unsigned)ALL_FLAGS)
        return false;
    for (int i = 0; i < observer->function_count; i++) {
        if ((unsigned)observer->functions[i] >= QMPI_FUNCTION_COUNT)
            return false;
    }
    return true;
}

static void make_tables(struct qmpi_layer *layer)
{
    if (!wanted[layer->tool_id])
        wanted[layer->tool_id] = qmpi_permanent_alloc(QMPI_FUNCTION_COUNT, 1);
    if (!layer->observing)
        layer->observing = qmpi_permanent_alloc(QMPI_FUNCTION_COUNT, sizeof *layer->observing);
}

int QMPIX_Register_tool_observer(int tool_id, const QMPIX_Observer *observer)
{
    struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !is_valid(observer))
        return MPI_ERR_ARG;
    if (!qmpi_layer_is_initialising(layer))
        return MPI_ERR_OTHER;
    qmpi_describe_all();
    if (observer->flags & (QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME))
        qmpi_clock_start();
    if (observer->flags & QMPIX_OBSERVE_COMMS)
        qmpi_comm_id_asked = true;
    bool shapes[QMPI_SHAPE_COUNT] = {false}; /* which it asked for */
    make_tables(layer);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        wanted[tool_id][number] = qmpi_observing[number] && chosen(observer, number);
        if (wanted[tool_id][number])
            shapes[qmpi_meanings[number].shape] = true;
    }
    shapes[QMPI_SHAPE_NONE] = false;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        const bool taken = wanted[tool_id][number] ||
                           (qmpi_observing[number] && shapes[serves(number)]) ||
                           (offsets[tool_id] && number == MPI_FINALIZE_T);
        layer->observing[number] = taken ? qmpi_observing[number] : NULL;
    }
    QMPIX_Observer *mine = &qmpi_observers[tool_id];
    *mine = *observer;
    mine->functions = NULL; /* the caller's */
    mine->function_count = 0;
    if (!mine->before)
        mine->before = qmpi_observe_nothing;
    if (!mine->after)
        mine->after = qmpi_observe_nothing;
    return MPI_SUCCESS;
}

int QMPIX_Clock_request_offsets(int tool_id)
{
    struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer)
        return MPI_ERR_ARG;
    if (!qmpi_layer_is_initialising(layer))
        return MPI_ERR_OTHER;
    make_tables(layer);
    layer->observing[MPI_FINALIZE_T] = qmpi_observing[MPI_FINALIZE_T];
    offsets[tool_id] = true;
    qmpi_offsets_request();
    return QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
}
