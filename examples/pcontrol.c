/* SPDX-License-Identifier: MIT */
/*
 * MPI_Pcontrol with the meaning that the MPI standard gives its levels (MPI 4.0, section 15.2,
 * "Miscellaneous Control of Profiling"): 0 switches profiling off, 1 switches it on, and 2 prints
 * the results so far. Profiling is on when MPI_Init returns. This tool counts the calls that move
 * messages between two processes. It passes MPI_Pcontrol on with all arguments, because the call
 * may have another meaning for the layers below.
 */
#include <qmpi/observer.h>
#include <stdatomic.h>
#include <stdio.h>

struct layer {
    _Atomic int off;
    _Atomic long long calls;
};
static struct layer layers[256];

static void say(int tool_id, const char *when)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "pcontrol (layer %d), rank %d, %s: %lld calls\n", tool_id, rank, when,
            (long long)layers[tool_id].calls);
}

QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context c, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    int tool_id = 0;
    QMPIX_PCONTROL_READ(words, level);
    QMPIX_Context_get_tool_id(c, &tool_id);
    if (level == 0 || level == 1)
        layers[tool_id].off = !level;
    else if (level == 2)
        say(tool_id, "so far");
    return QMPIX_NEXT(c, Pcontrol)(QMPIX_NEXT_CONTEXT(c), level, QMPIX_PCONTROL_PASS(words));
}

static int my_Finalize(QMPI_Context c)
{
    int tool_id = 0;
    QMPIX_Context_get_tool_id(c, &tool_id);
    say(tool_id, "in all");
    return QMPIX_NEXT(c, Finalize)(QMPIX_NEXT_CONTEXT(c));
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    (void)word;
    if (!layer->off)
        layer->calls++;
}

static void init(int tool_id)
{
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = before,
                                     .data = &layers[tool_id],
                                     .groups = QMPIX_GROUP_POINT_TO_POINT};
    QMPIX_Register_tool_observer(tool_id, &observer);
    QMPIX_REGISTER(tool_id, Pcontrol, my_Pcontrol);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("pcontrol", init);
}
