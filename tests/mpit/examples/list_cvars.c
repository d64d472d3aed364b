/* SPDX-License-Identifier: MIT */
/*
 * The MPI standard's example "Printing all control variables" (MPI 4.0, section 15.3.6 "Control
 * Variables"), in which one error is corrected: the example returned after the first variable.
 */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int i, err, num, namelen, bind, verbose, scope;
    int threadsupport;
    char name[100];
    MPI_Datatype datatype;

    err = MPI_T_init_thread(MPI_THREAD_SINGLE, &threadsupport);
    if (err != MPI_SUCCESS)
        return err;

    err = MPI_T_cvar_get_num(&num);
    if (err != MPI_SUCCESS)
        return err;

    for (i = 0; i < num; i++) {
        namelen = 100;
        err = MPI_T_cvar_get_info(i, name, &namelen, &verbose, &datatype, NULL, NULL, NULL, &bind,
                                  &scope);
        if (err != MPI_SUCCESS && err != MPI_T_ERR_INVALID_INDEX)
            return err;
        printf("Var %i: %s\n", i, name);
    }

    err = MPI_T_finalize();
    return err != MPI_SUCCESS;
}
