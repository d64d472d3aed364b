/* SPDX-License-Identifier: MIT */
/* Tests whether the MPI library survives a call with MPI_T_PVAR_ALL_HANDLES. Some libraries crash
 * with the value that the standard ABI gives this constant. */
#include <mpi.h>

int main(void)
{
    int provided;
    MPI_T_pvar_session session;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(0, 0);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    MPI_Finalize();
    return 0;
}
