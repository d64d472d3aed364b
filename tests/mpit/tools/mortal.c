/* SPDX-License-Identifier: MIT */
/*
 * Publishes a watermark `level` that is bound to an info object, and a control variable `sample`.
 * Writing to `sample` samples the watermark. The tool keeps track of the info objects that exist,
 * and prints a line if its callback is called for an object that has been freed.
 */
#include "trace.h"

#include <qmpi/mpit.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Info alive[MOST];
static bool used[MOST];
static int level_index;

/* Returns whether the object is known to exist. With `forget`, also removes it from the known
 * objects. */
static bool find(MPI_Info info, bool forget)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST && !found; i++) {
        found = used[i] && alive[i] == info;
        if (found && forget)
            used[i] = false;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int mortal_create(QMPI_Context context, MPI_Info *info)
{
    const int result = QMPIX_NEXT(context, Info_create)(QMPIX_NEXT_CONTEXT(context), info);
    int i = 0;
    pthread_mutex_lock(&lock);
    while (used[i])
        i++;
    used[i] = true;
    alive[i] = *info;
    pthread_mutex_unlock(&lock);
    return result;
}

static int mortal_free(QMPI_Context context, MPI_Info *info)
{
    find(*info, true);
    return QMPIX_NEXT(context, Info_free)(QMPIX_NEXT_CONTEXT(context), info);
}

/* Yields, so that another thread has time to free the object if libqmpi does not make that thread
 * wait. */
static int read_level(void *user, const void *object, void *buffer, int count)
{
    const unsigned long long level = 7;
    MPI_Info info;
    (void)user;
    (void)count;
    memcpy(&info, object, sizeof info);
    for (int i = 0; i < 3; i++)
        sched_yield();
    if (!find(info, false))
        trace("mortal was asked about an object that is gone");
    memcpy(buffer, &level, sizeof level);
    return MPI_SUCCESS;
}

static int read_sample(void *user, const void *object, void *buffer, int count)
{
    (void)user;
    (void)object;
    memset(buffer, 0, (size_t)count * sizeof(int));
    return MPI_SUCCESS;
}

static int write_sample(void *user, const void *object, const void *buffer, int count)
{
    (void)user;
    (void)object;
    (void)buffer;
    (void)count;
    return QMPIX_Pvar_sample(level_index);
}

static void init(int tool_id)
{
    const QMPIX_Pvar level = {.size = sizeof level,
                              .name = "level",
                              .var_class = MPI_T_PVAR_CLASS_HIGHWATERMARK,
                              .datatype = MPI_UNSIGNED_LONG_LONG,
                              .bind = MPI_T_BIND_MPI_INFO,
                              .read = read_level};
    const QMPIX_Cvar sample = {.size = sizeof sample,
                               .name = "sample",
                               .datatype = MPI_INT,
                               .scope = MPI_T_SCOPE_LOCAL,
                               .read = read_sample,
                               .write = write_sample};
    if (QMPIX_Pvar_create(tool_id, &level, &level_index) != MPI_SUCCESS ||
        QMPIX_Cvar_create(tool_id, &sample, NULL) != MPI_SUCCESS)
        abort();
    QMPI_Register_tool_function(tool_id, MPI_INFO_CREATE_T, (void (*)(void))mortal_create);
    QMPI_Register_tool_function(tool_id, MPI_INFO_FREE_T, (void (*)(void))mortal_free);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("mortal", init);
}
