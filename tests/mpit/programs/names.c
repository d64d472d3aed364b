/* SPDX-License-Identifier: MIT */
/*
 * Prints the names of all performance variables, of all categories, and of the control variables
 * that begin with `qmpi.`, each in the order of the indices. Also prints the descriptions of the
 * categories that begin with `qmpi.`, and the value of `qmpi.stack`. Prints everything before and
 * after MPI_Init, so that the test can check what MPI_Init changes.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void print_stack(void)
{
    MPI_T_cvar_handle handle;
    char text[1000] = "";
    int index, count = 0;
    if (MPI_T_cvar_get_index("qmpi.stack", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    if (count <= (int)sizeof text)
        MPI_T_cvar_read(handle, text);
    printf("stack %d %s\n", count, text);
    MPI_T_cvar_handle_free(&handle);
}

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
        char text[300];
        int text_length = sizeof text;
        length = sizeof name;
        if (MPI_T_category_get_info(i, name, &length, text, &text_length, NULL, NULL, NULL) !=
            MPI_SUCCESS)
            continue;
        printf("category %d %s\n", i, name);
        if (!strncmp(name, "qmpi.", 5))
            printf("described %s: %s\n", name, text);
    }
    MPI_T_cvar_get_num(&num);
    for (int i = 0; i < num; i++) {
        length = sizeof name;
        if (MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
                MPI_SUCCESS &&
            !strncmp(name, "qmpi.", 5))
            printf("cvar %d %s\n", i, name);
    }
    print_stack();
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    print();
    MPI_Init(&argc, &argv);
    puts("again");
    print();
    fflush(stdout); /* Open MPI 4.1.4 may crash at the end even without libqmpi */
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
