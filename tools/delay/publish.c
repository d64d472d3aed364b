/* SPDX-License-Identifier: MIT */
/* See publish.h. */
#include "publish.h"

#include "util/util.h"

#include <qmpi/mpit.h>

#include <stddef.h>
#include <string.h>

static struct rule *published[256]; /* [tool_id] */

static int read_seconds(void *user, const void *object, void *buffer, int count)
{
    const struct rule *rule = user;
    const double seconds = (double)__atomic_load_n(&rule->nanoseconds, __ATOMIC_RELAXED) * 1e-9;
    (void)object;
    (void)count;
    memcpy(buffer, &seconds, sizeof seconds);
    return MPI_SUCCESS;
}

static bool publish(struct rule *rule)
{
    const struct {
        const char *name, *description;
        unsigned long long *address;
    } counters[] = {
        {"acted", "Calls that were delayed or failed", &rule->acted},
        {"delayed", "Calls that were delayed", &rule->delayed},
        {"failed", "Calls that reported an injected error", &rule->failed},
        {"detours", "Detours caused by noise", &rule->detours},
    };
    QMPIX_Pvar pvar = {
        .size = sizeof pvar,
        .var_class = MPI_T_PVAR_CLASS_COUNTER,
        .datatype = MPI_UNSIGNED_LONG_LONG,
        .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        pvar.name = counters[i].name;
        pvar.description = counters[i].description;
        pvar.address = counters[i].address;
        if (QMPIX_Pvar_create(rule->tool_id, &pvar, NULL) != MPI_SUCCESS)
            return false;
    }
    pvar.name = "time";
    pvar.description = "Seconds added by delays and detours";
    pvar.var_class = MPI_T_PVAR_CLASS_TIMER;
    pvar.datatype = MPI_DOUBLE;
    pvar.address = NULL;
    pvar.read = read_seconds;
    pvar.user = rule;
    return QMPIX_Pvar_create(rule->tool_id, &pvar, NULL) == MPI_SUCCESS;
}

static void publish_or_say(int tool_id)
{
    if (!publish(published[tool_id]))
        qmpi_printf("delay (layer %d): libqmpi rejects its variables\n  hint: use the delay.so "
                    "that is part of this qmpi",
                    tool_id);
}

void publish_lazily(struct rule *rule)
{
    published[rule->tool_id] = rule;
    QMPIX_Register_publisher(rule->tool_id, publish_or_say);
}
