/* SPDX-License-Identifier: MIT */
/* See pvars.h. */
#include "pvars.h"

#include "record/threads.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- Values: sums over the threads' notes, which are read without a lock --------------------- */

/* A variable's word: which function of which layer it tells of. */
static void *word_of(int tool_id, int number)
{
    return (void *)((uintptr_t)tool_id << 16 | (uintptr_t)number);
}

/* What a thread noted of a function. Most were never called: then there is no need to look at the
 * sites. */
static void add_thread(struct stats *sum, const struct thread *thread, int number)
{
    struct table_place place = {0}, place_of_site = {0};
    const struct function_row *row;
    while ((row = table_next(&thread->functions, &place)) && call_key_number(row->key) != number)
        ;
    const size_t depth = row ? thread->sites.key_words - 1 : 0;
    for (uint64_t *its; row && (its = table_next(&thread->sites, &place_of_site));) {
        if (call_key_number(*its) == number)
            stats_add(sum, &site_of(its, depth)->stats);
    }
}

/* Over all regions. */
static struct stats sum_of(const void *user)
{
    const uintptr_t word = (uintptr_t)user;
    struct stats sum = {0};
    for (const struct thread *thread = threads_first((int)(word >> 16)); thread;
         thread = thread->next)
        add_thread(&sum, thread, (int)(word & 0xffff));
    return sum;
}

#define READ_WORDS(member)                                                                         \
    static int read_##member(void *user, const void *object, void *buffer, int count)              \
    {                                                                                              \
        const unsigned long long value = sum_of(user).member;                                      \
        (void)object;                                                                              \
        (void)count;                                                                               \
        memcpy(buffer, &value, sizeof value);                                                      \
        return MPI_SUCCESS;                                                                        \
    }
READ_WORDS(calls)
READ_WORDS(sent)
READ_WORDS(received)

/* A timer never goes back, so for its readers a tick has one length from the first one on. In a
 * signal handler, too: there nobody may be waited for. */
static double tick_of_readers(void)
{
    static _Atomic double tick;
    double known = atomic_load(&tick);
    if (known == 0) {
        const double mine = ticks_length();
        if (atomic_compare_exchange_strong(&tick, &known, mine))
            known = mine;
    }
    return known;
}

static int read_time(void *user, const void *object, void *buffer, int count)
{
    (void)object;
    (void)count;
    const double seconds = (double)sum_of(user).time * tick_of_readers();
    memcpy(buffer, &seconds, sizeof seconds);
    return MPI_SUCCESS;
}

/* ---- Publishing ------------------------------------------------------------------------------ */

static const struct kind {
    const char *category, *name, *description; /* of both the function's name is the end */
    int var_class;
    MPI_Datatype datatype;
    QMPIX_Var_read *read;
    bool moves; /* of functions that move bytes only */
} kinds[] = {
    {"calls", "calls.", "Calls of ", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, read_calls,
     false},
    {"bytes", "bytes.sent.", "Bytes sent or written by ", MPI_T_PVAR_CLASS_AGGREGATE,
     MPI_UNSIGNED_LONG_LONG, read_sent, true},
    {"bytes", "bytes.received.", "Bytes received or read by ", MPI_T_PVAR_CLASS_AGGREGATE,
     MPI_UNSIGNED_LONG_LONG, read_received, true},
    {"time", "time.", "Seconds in ", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, read_time, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool publish_categories(int tool_id)
{
    static const struct {
        const char *name, *description;
    } all[] = {
        {"calls", "Calls by function"},
        {"bytes", "Bytes moved by calls, by function"},
        {"time", "Time in calls, by function"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const QMPIX_Category category = {
            .size = sizeof category, .name = all[i].name, .description = all[i].description};
        if (QMPIX_Category_create(tool_id, &category, NULL) != MPI_SUCCESS)
            return false;
    }
    return true;
}

static bool publish_kind(int tool_id, const struct kind *kind, int number)
{
    char name[300], description[300];
    const char *function = QMPIX_Function_name((enum QMPI_Functions_enum)number);
    const QMPIX_Pvar pvar = {
        .size = sizeof pvar,
        .name = name,
        .description = description,
        .var_class = kind->var_class,
        .datatype = kind->datatype,
        .flags = QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC,
        .category = kind->category,
        .read = kind->read,
        .user = word_of(tool_id, number),
    };
    snprintf(name, sizeof name, "%s%s", kind->name, function);
    snprintf(description, sizeof description, "%s%s", kind->description, function);
    return QMPIX_Pvar_create(tool_id, &pvar, NULL) == MPI_SUCCESS;
}

static bool publish(int tool_id)
{
    if (!publish_categories(tool_id))
        return false;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const struct traits *traits = &traits_all[number];
        int exists = 0;
        QMPIX_Function_exists((enum QMPI_Functions_enum)number, &exists);
        for (int i = 0; exists && i < KINDS; i++) {
            if (kinds[i].moves && !traits->has_transfers && !traits->has_bytes)
                continue;
            if (!publish_kind(tool_id, &kinds[i], number))
                return false;
        }
    }
    return true;
}

static void publish_or_say(int tool_id)
{
    if (!publish(tool_id))
        qmpi_printf("profile (layer %d): libqmpi rejects its variables\n  hint: use the profile.so "
                    "that is part of this qmpi",
                    tool_id);
}

bool publish_lazily(int tool_id)
{
    return QMPIX_Register_publisher(tool_id, publish_or_say) == MPI_SUCCESS;
}
