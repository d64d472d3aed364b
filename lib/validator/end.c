/* SPDX-License-Identifier: MIT */
/* See end.h. */
#define _GNU_SOURCE
#include "validator/end.h"

#include "validator/fault.h"
#include "validator/handles.h"
#include "validator/job.h"
#include "validator/notes.h"
#include "validator/threads.h"

#include <stdlib.h>
#include <unistd.h>

static const struct qmpi_validate_host *host;
static pid_t process;         /* children of it do not report */
static bool has_called_layer; /* in which there may be faults */

bool end_expect(void)
{
    return !__atomic_exchange_n(&has_called_layer, true, __ATOMIC_RELAXED);
}

/* glibc continues with the handlers that have not run yet. */
static void end_with_failure(int status, void *data)
{
    bool any = false;
    (void)data;
    if (getpid() != process)
        return;
    handles_check_end();
    threads_check_end();
    bool found = fault_was_found();
    for (int tool_id = 1; tool_id <= host->layers; tool_id++)
        found |= host->misregisters(tool_id);
    if (has_called_layer) {
        notes_print_costs();
        threads_print_levels();
    }
    if (job_end(found, &any, fault_print_counts) && !any && has_called_layer)
        host->print("validation: no faults");
    if (found && !status)
        exit(1);
}

void end_start(const struct qmpi_validate_host *given)
{
    host = given;
    process = getpid();
    on_exit(end_with_failure, NULL);
}
