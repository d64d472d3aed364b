/* SPDX-License-Identifier: MIT */
/* Writes several numbers to each writable integer control variable of libqmpi and the layers
 * (`qmpi.…`) that is not bound to an object, like MPICH's test mpi_t/cvarwrite. Prints the name of
 * each variable that accepts a number, and each accepted number that is not read back. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int write_and_read(int index, const char *name)
{
    static const int values[] = {0, 1, 123, 456, 0};
    MPI_T_cvar_handle handle;
    int count, before, after, tried = 0;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return 0;
    MPI_T_cvar_read(handle, &before);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int value = values[i];
        if (MPI_T_cvar_write(handle, &value) != MPI_SUCCESS)
            continue;
        tried = 1;
        MPI_T_cvar_read(handle, &after);
        if (after != value)
            printf("%s: %d was written, %d is read\n", name, value, after);
    }
    MPI_T_cvar_write(handle, &before);
    MPI_T_cvar_handle_free(&handle);
    return tried;
}

int main(int argc, char **argv)
{
    int provided, variables = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&variables);
    for (int i = 0; i < variables; i++) {
        char name[256] = "";
        int length = sizeof name, bind, scope;
        MPI_Datatype type;
        MPI_T_cvar_get_info(i, name, &length, NULL, &type, NULL, NULL, NULL, &bind, &scope);
        if (!strncmp(name, "qmpi.", 5) && type == MPI_INT && bind == MPI_T_BIND_NO_OBJECT &&
            scope != MPI_T_SCOPE_CONSTANT && scope != MPI_T_SCOPE_READONLY &&
            write_and_read(i, name))
            printf("written: %s\n", name);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
