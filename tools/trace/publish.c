/* SPDX-License-Identifier: MIT */
/* See publish.h. */
#include "publish.h"

#include "layer.h"
#include "save/snapshot.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdlib.h>
#include <string.h>

static struct layer *published[256]; /* [tool_id] */

static int read_zero(void *user, const void *object, void *buffer, int count)
{
    (void)user;
    (void)object;
    (void)count;
    memset(buffer, 0, sizeof(int));
    return MPI_SUCCESS;
}

/* Any other value than 0 saves what is there. */
static int write_save(void *user, const void *object, const void *buffer, int count)
{
    struct layer *layer = user;
    int value;
    (void)object;
    (void)count;
    memcpy(&value, buffer, sizeof value);
    if (value)
        snapshot_request(layer);
    return MPI_SUCCESS;
}

static bool publish(struct layer *layer)
{
    const struct {
        const char *name, *description;
        void *address;
    } counters[] = {
        {"events", "Events that have been written", &layer->writer.events},
        {"dropped", "Records that were lost, because there was no memory left", &layer->dropped},
        {"bytes", "Bytes that have been written", &layer->writer.bytes},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        const QMPIX_Pvar pvar = {.size = sizeof pvar,
                                 .name = counters[i].name,
                                 .description = counters[i].description,
                                 .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                 .datatype = MPI_UNSIGNED_LONG_LONG,
                                 .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
                                 .address = counters[i].address};
        if (QMPIX_Pvar_create(layer->tool_id, &pvar, NULL) != MPI_SUCCESS)
            return false;
    }
    const QMPIX_Cvar save = {.size = sizeof save,
                             .name = "save",
                             .description =
                                 "Set to 1, it writes what has been recorded to the file",
                             .datatype = MPI_INT,
                             .scope = MPI_T_SCOPE_LOCAL,
                             .read = read_zero,
                             .write = write_save,
                             .user = layer};
    return QMPIX_Cvar_create(layer->tool_id, &save, NULL) == MPI_SUCCESS;
}

static void publish_or_say(int tool_id)
{
    if (!publish(published[tool_id]))
        qmpi_printf("trace (layer %d): libqmpi rejects its variables\n  hint: use the trace.so "
                    "that is part of this qmpi",
                    tool_id);
}

void publish_lazily(struct layer *layer)
{
    published[layer->tool_id] = layer;
    QMPIX_Register_publisher(layer->tool_id, publish_or_say);
}
