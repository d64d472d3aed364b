/* SPDX-License-Identifier: MIT */
/*
 * Writes all that MPI_T tells of the first 344 control variables and 20 categories, or of all where
 * there are fewer, with their values: before MPI_Init, between, and after MPI_Finalize. With
 * `write`, what comes of writing each back is told too.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { CVARS = 344, CATEGORIES = 20, ROOM = 1 << 16 };

static void list_cvar(int index, int write)
{
    static union {
        char bytes[ROOM];
        double real;
    } value;
    char name[300] = "", desc[4000] = "";
    int name_len = sizeof name, desc_len = sizeof desc, verbosity = 0, bind = 0, scope = 0;
    int count = 0, size = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_T_enum enumtype = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle handle;
    const int info = MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &datatype, &enumtype,
                                         desc, &desc_len, &bind, &scope);
    printf("%d %d %s %d %d %d %d %d %d %s", index, info, name, name_len, verbosity, (int)datatype,
           bind, scope, desc_len, desc);
    memset(&value, 0, sizeof value);
    printf(" | %d", MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    printf(" %d %d", count, MPI_T_cvar_read(handle, &value));
    if (write)
        printf(" %d", MPI_T_cvar_write(handle, &value));
    if (datatype == MPI_CHAR)
        printf(" %s", value.bytes);
    else if (datatype == MPI_DOUBLE)
        size = (int)sizeof(double);
    else
        size = (int)sizeof(int);
    for (int i = 0; i < size * count; i++)
        printf(" %02x", (unsigned char)value.bytes[i]);
    printf(" %d\n", MPI_T_cvar_handle_free(&handle));
}

static void list_category(int index)
{
    char name[300] = "", desc[4000] = "";
    int name_len = sizeof name, desc_len = sizeof desc, counts[3] = {0}, indices[CVARS];
    const int info = MPI_T_category_get_info(index, name, &name_len, desc, &desc_len, &counts[0],
                                             &counts[1], &counts[2]);
    printf("category %d %d %s %s %d %d %d:", index, info, name, desc, counts[0], counts[1],
           counts[2]);
    MPI_T_category_get_cvars(index, CVARS, indices);
    for (int i = 0; i < counts[0]; i++)
        printf(" %d", indices[i]);
    printf("\n");
}

static void list(const char *when, int write)
{
    int num = 0;
    printf("%s\n", when);
    MPI_T_cvar_get_num(&num);
    for (int i = 0; i < num && i < CVARS; i++)
        list_cvar(i, write);
    MPI_T_category_get_num(&num);
    for (int i = 0; i < num && i < CATEGORIES; i++)
        list_category(i);
}

int main(int argc, char **argv)
{
    const int write = argc > 1 && !strcmp(argv[1], "write");
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    list("before MPI_Init", write);
    MPI_Init(&argc, &argv);
    list("after MPI_Init", write);
    MPI_Finalize();
    list("after MPI_Finalize", 0);
    MPI_T_finalize();
    return 0;
}
