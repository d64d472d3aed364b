/* SPDX-License-Identifier: MIT */
/*
 * A plugin of the program or, with -DSHARED, a library with MPI calls that plugins and tools share.
 * It records its calls, and the address range from which it makes them, in the ledger that its
 * caller passes. BINDING selects how it calls MPI. LARGE and SLOW make its loading slow.
 */
#include "../plugin.h"
#include "storm_numbers.h"

#include <dlfcn.h>
#include <time.h>

#define BY_CALL 1
#define BY_NAME 2
#define BY_SHARED 3 /* another library makes the calls */
#ifndef BINDING
#define BINDING BY_CALL
#endif

void storm_shared_calls(const struct storm_use *use);
void storm_plugin(const struct storm_use *use);

#ifdef LARGE
/* These many relocations, in a segment that becomes read-only, make loading slow. */
extern int storm_large;
int storm_large = 5;
#define P8                                                                                         \
    &storm_large, &storm_large, &storm_large, &storm_large, &storm_large, &storm_large,            \
        &storm_large, &storm_large,
#define P64 P8 P8 P8 P8 P8 P8 P8 P8
#define P512 P64 P64 P64 P64 P64 P64 P64 P64
#define P4K P512 P512 P512 P512 P512 P512 P512 P512
#define P32K P4K P4K P4K P4K P4K P4K P4K P4K
extern int *const storm_table[];
int *const storm_table[] = {P32K P32K P32K};
#endif

#ifdef SLOW
__attribute__((constructor)) static void take_time(void)
{
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
}
#endif

static void make_calls(const struct storm_use *use)
{
    struct storm_ledger *ledger = use->ledger;
    struct storm_caller *caller = ledger->caller(), before = *caller;
    int (*comm_rank)(MPI_Comm, int *) = MPI_Comm_rank;
    *caller = (struct storm_caller){__ehdr_start, _end, 0};
#if BINDING == BY_NAME
    comm_rank = (int (*)(MPI_Comm, int *))(uintptr_t)dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
#endif
    for (int i = 0; i < use->calls; i++) {
        int rank = -9, size = -9;
        storm_add(&ledger->program[STORM_Comm_rank], 1);
        if (comm_rank(use->comm, &rank) != MPI_SUCCESS || rank != use->rank)
            storm_wrong(ledger, "a plugin's MPI_Comm_rank gave %d", rank);
#if BINDING != BY_NAME
        storm_add(&ledger->program[STORM_Comm_size], 1);
        if (MPI_Comm_size(use->comm, &size) != MPI_SUCCESS || size < 1)
            storm_wrong(ledger, "a plugin's MPI_Comm_size gave %d", size);
#endif
        (void)size;
        __asm__ volatile("" ::: "memory");
    }
    *caller = before;
}

#ifdef SHARED
void storm_shared_calls(const struct storm_use *use)
{
    make_calls(use);
}
#else
void storm_plugin(const struct storm_use *use)
{
#if BINDING == BY_SHARED
    (void)make_calls;
    storm_shared_calls(use);
#else
    make_calls(use);
#endif
}
#endif
