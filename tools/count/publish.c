/* SPDX-License-Identifier: MIT */
/* See publish.h. */
#include "publish.h"

#include "counters.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A variable's word: which counter it is. */
static void *word_of(int tool_id, int number)
{
    return (void *)((uintptr_t)tool_id << 16 | (uintptr_t)number);
}

static int read_calls(void *user, const void *object, void *buffer, int count)
{
    const uintptr_t word = (uintptr_t)user;
    const unsigned long long calls = counters_get((int)(word >> 16), (int)(word & 0xffff));
    (void)object;
    (void)count;
    memcpy(buffer, &calls, sizeof calls);
    return MPI_SUCCESS;
}

static bool publish(int tool_id)
{
    char name[300], description[300];
    QMPIX_Pvar calls = {
        .size = sizeof calls,
        .name = name,
        .description = description,
        .var_class = MPI_T_PVAR_CLASS_COUNTER,
        .datatype = MPI_UNSIGNED_LONG_LONG,
        .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
        .read = read_calls,
    };
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum function = (enum QMPI_Functions_enum)number;
        int exists = 0;
        if (QMPIX_Function_exists(function, &exists) != MPI_SUCCESS || !exists)
            continue;
        const char *function_name = QMPIX_Function_name(function);
        snprintf(name, sizeof name, "calls.%s", function_name);
        snprintf(description, sizeof description, "Calls of %s", function_name);
        calls.user = word_of(tool_id, number);
        if (QMPIX_Pvar_create(tool_id, &calls, NULL) != MPI_SUCCESS)
            return false;
    }
    return true;
}

static void publish_or_say(int tool_id)
{
    if (!publish(tool_id) && qmpi_is_reporting_process())
        qmpi_printf("count (layer %d): libqmpi rejects its variables\n  hint: use the count.so "
                    "that is part of this qmpi",
                    tool_id);
}

bool count_publish_lazily(int tool_id)
{
    return QMPIX_Register_publisher(tool_id, publish_or_say) == MPI_SUCCESS;
}
