/* SPDX-License-Identifier: MIT */
/*
 * Used with tests/count_steps.c: `cost WHAT N…` makes 1 call, and then N calls in a loop for each
 * N. WHAT is one of:
 * - read: MPI_T_pvar_read of a published counter.
 * - num: MPI_T_cvar_get_num.
 * - nothing: a function of this program that does nothing and has the parameters of
 *   MPI_T_pvar_read.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef int read_function(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer);

__attribute__((noinline)) static int nothing(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                             void *buffer)
{
    __asm__ volatile("" : : "r"(session), "r"(handle), "r"(buffer) : "memory");
    return MPI_SUCCESS;
}

static int number_of_variables(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer)
{
    (void)session, (void)handle;
    return MPI_T_cvar_get_num(buffer);
}

/* All functions are called by the same loop, so that they can be compared. */
__attribute__((noinline)) static int call(read_function *function, int calls,
                                          MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    int result = MPI_SUCCESS;
    for (int i = 0; i < calls; i++)
        result |= function(session, handle, &value);
    return result;
}

int main(int argc, char **argv)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int provided, index, count, result = MPI_SUCCESS;
    if (argc < 3)
        return 2;
    const int reads = !strcmp(argv[1], "read");
    read_function *const function = reads                     ? MPI_T_pvar_read
                                    : !strcmp(argv[1], "num") ? number_of_variables
                                                              : nothing;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (reads) {
        result |= MPI_T_pvar_get_index("qmpi.publisher.total", MPI_T_PVAR_CLASS_COUNTER, &index);
        result |= MPI_T_pvar_session_create(&session);
        result |= MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    }
    result |= call(function, 1, session, handle);
    for (int i = 2; i < argc; i++) {
        const int calls = atoi(argv[i]);
        raise(SIGURG); /* for count_steps; the program itself ignores this signal */
        result |= call(function, calls, session, handle);
        raise(SIGURG);
    }
    return result;
}
