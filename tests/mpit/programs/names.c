/* SPDX-License-Identifier: MIT */
/* Prints the names of all performance variables, categories, and of the variables of ours that
 * control something, in the order of their indices; twice, for that must not change. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void print(void)
{
    char name[300];
    int num = 0, length;
    MPI_T_pvar_get_num(&num);
    for (int i = 0; i < num; i++) {
        length = sizeof name;
        if (MPI_T_pvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                NULL, NULL) == MPI_SUCCESS)
            printf("pvar %d %s\n", i, name);
    }
    MPI_T_category_get_num(&num);
    for (int i = 0; i < num; i++) {
        length = sizeof name;
        if (MPI_T_category_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS)
            printf("category %d %s\n", i, name);
    }
    MPI_T_cvar_get_num(&num);
    for (int i = 0; i < num; i++) {
        length = sizeof name;
        if (MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                MPI_SUCCESS &&
            !strncmp(name, "qmpi.", 5))
            printf("cvar %d %s\n", i, name);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    print();
    MPI_Init(&argc, &argv);
    puts("again");
    print();
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
