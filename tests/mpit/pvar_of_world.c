/* SPDX-License-Identifier: MIT */
/*
 * Tests whether the MPI library provides a handle for the performance variable argv[1] of
 * MPI_COMM_WORLD, whatever the surrounding memory contains. Open MPI 6.0.0rc2 interprets the memory
 * behind the communicator handle, or behind a copy of the handle on the stack, as the communicator
 * itself. With some contents of this memory, it provides no handle.
 */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    int provided, count, result = 1;
    MPI_Comm world[64 * argc]; /* next to the frames of called functions */
    memset(world, -1, sizeof world);
    world[0] = MPI_COMM_WORLD;
    MPI_T_pvar_session session;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[256] = "";
        int length = sizeof name, verbosity, class, bind, readonly, continuous, atomic, elements;
        MPI_Datatype datatype;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &datatype, 0, 0, 0, &bind,
                                &readonly, &continuous, &atomic) == MPI_SUCCESS &&
            !strcmp(name, argv[1]))
            result = MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_NO_OBJECT ? 0 : world,
                                             &handle, &elements) != MPI_SUCCESS;
    }
    MPI_Finalize();
    return result;
}
