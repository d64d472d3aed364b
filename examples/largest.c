/* SPDX-License-Identifier: MIT */
/* docs/write/observers.md: the largest message of this process, and where it was sent from. */
#include <qmpi/observer.h>
#include <stdio.h>

static MPI_Count largest = -1;
static const char *function;
static void *caller;

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    MPI_Count sent = 0;
    (void)word;
    if (QMPIX_Call_get_bytes(call, &sent, NULL) == MPI_SUCCESS && sent > largest) {
        largest = sent;
        function = call->function->name;
        QMPIX_Call_get_caller(call, &caller);
    }
    if (call->function->number == MPI_FINALIZE_T)
        fprintf(stderr, "largest: %lld bytes, %s, called from %p\n", (long long)largest, function,
                caller);
}

static void init(int tool_id)
{
    static const QMPIX_Observer observer = {.size = sizeof observer, .after = after};
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("largest", init);
}
