/* SPDX-License-Identifier: MIT */
/*
 * For counting instructions: `cost WHAT N` makes N calls of one sort, and nothing else that depends
 * on N. read: MPI_T_pvar_read of a published counter; num: MPI_T_cvar_get_num; nothing: a function
 * of its own that does nothing, with as many arguments as MPI_T_pvar_read.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

typedef int read_function(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer);

__attribute__((noinline)) static int nothing(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                             void *buffer)
{
    __asm__ volatile("" : : "r"(session), "r"(handle), "r"(buffer) : "memory");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    unsigned long long value = 0;
    int provided, index, count, result = MPI_SUCCESS;
    if (argc < 3)
        return 2;
    const int calls = atoi(argv[2]);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (!strcmp(argv[1], "num")) {
        for (int i = 0; i < calls; i++)
            result |= MPI_T_cvar_get_num(&count);
        return result;
    }
    const int reads = !strcmp(argv[1], "read");
    read_function *volatile chosen = reads ? MPI_T_pvar_read : nothing;
    read_function *const function = chosen;
    if (reads) {
        result |= MPI_T_pvar_get_index("qmpi.publisher.total", MPI_T_PVAR_CLASS_COUNTER, &index);
        result |= MPI_T_pvar_session_create(&session);
        result |= MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    }
    for (int i = 0; i < calls; i++)
        result |= function(session, handle, &value);
    return result;
}
