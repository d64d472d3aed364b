/* SPDX-License-Identifier: MIT */
/*
 * An observer that is compiled for the standard ABI. In a program with another ABI, libqmpi
 * converts the results of its requests. The observer makes no requests, or requests a communicator
 * or (BENCH_STATUS) a status of MPI_Iprobe BENCH_ASK times. An eighth of the difference between
 * once and nine times is the cost of a request.
 */
#include "announce.h"

#include <qmpi/observer.h>

#if BENCH_ASK
enum { COMM = 2, STATUS = 4 }; /* indices of arguments of MPI_Iprobe */

static void ask(const QMPIX_Call *call)
{
#if BENCH_STATUS
    MPI_Status status;
    QMPIX_Call_get_elements(call, STATUS, 0, 1, &status);
#else
    MPI_Comm comm;
    QMPIX_Call_get_argument(call, COMM, &comm);
#endif
}
#endif

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)call;
    (void)word;
#if BENCH_ASK
    ask(call);
#endif
#if BENCH_ASK == 9 /* not a loop, whose own instructions would count */
    ask(call);
    ask(call);
    ask(call);
    ask(call);
    ask(call);
    ask(call);
    ask(call);
    ask(call);
#endif
}

void bench_init(int tool_id)
{
    static const QMPIX_Observer observer = {.size = sizeof observer, .after = after};
    QMPIX_Register_tool_observer(tool_id, &observer);
}
