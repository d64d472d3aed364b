/* SPDX-License-Identifier: MIT */
/*
 * Prints what MPI_T provides about the MPI library's own variables and categories, and the values
 * of most variables: before MPI_Init, between MPI_Init and MPI_Finalize and, unless this is Open
 * MPI, after MPI_Finalize. Performance variables are only read between the two calls. With `write`,
 * also writes each value of a control variable back after reading it, except after MPI_Finalize,
 * and prints the result. Items that exist at the start are printed with their indices. Items that
 * the library adds later are printed as `new`, because their indices depend on how many items the
 * layers published.
 */
#include "library_names.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 8192, ROOM = 1 << 16 };

static union {
    char bytes[ROOM];
    double real;
} value;

/* The numbers of control variables, performance variables and categories that the library has at
 * the start. */
static int at_first[3];

static void print_index(const char *what, int index, int first)
{
    if (index < first)
        printf("%s %d", what, index);
    else
        printf("%s new", what);
}

/* Returns whether an item was published by libqmpi or a layer. Such items are not printed. */
static int is_published(const char *name)
{
    return !strncmp(name, "qmpi", 4) || !strncmp(name, "publisher_", 10);
}

/* Returns the same number for a datatype in each run. In some MPI libraries, datatypes are
 * addresses, which may differ between runs. */
static int number_of(MPI_Datatype datatype)
{
    const MPI_Datatype all[] = {MPI_INT,  MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                                MPI_CHAR, MPI_DOUBLE,   MPI_COUNT,         MPI_C_BOOL};
    int number = 0;
    while (number < 8 && all[number] != datatype)
        number++;
    return number;
}

static int size_of(MPI_Datatype datatype)
{
    if (datatype == MPI_CHAR || datatype == MPI_C_BOOL)
        return 1;
    return datatype == MPI_INT || datatype == MPI_UNSIGNED ? (int)sizeof(int) : 8;
}

static void print_value(MPI_Datatype datatype, int count)
{
    if (datatype == MPI_CHAR)
        printf(" %s", value.bytes);
    else
        for (int i = 0; i < size_of(datatype) * count; i++)
            printf(" %02x", (unsigned char)value.bytes[i]);
}

/* Returns whether a variable must not be read. Open MPI 4.1.4 crashes if some variables are read
 * after it has closed their components. The values of variables with `_uri` in their names may
 * differ between runs, so that they cannot be compared. */
static int is_unreadable(const char *name)
{
    return is_open_mpi() && (strstr(name, "ucx") || strstr(name, "psm2") || strstr(name, "_uri") ||
                             strstr(name, "osc_rdma"));
}

static void read_cvar(int index, MPI_Datatype datatype, int write)
{
    MPI_T_cvar_handle handle;
    int count = 0;
    memset(&value, 0, sizeof value);
    const int result = MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    printf(" | %d", result);
    if (result != MPI_SUCCESS)
        return;
    printf(" %d %d", count, MPI_T_cvar_read(handle, &value));
    if (write)
        printf(" %d", MPI_T_cvar_write(handle, &value));
    print_value(datatype, count);
    printf(" %d", MPI_T_cvar_handle_free(&handle));
}

static void list_enum(MPI_T_enum enumtype)
{
    char name[300] = "";
    int num = 0, length = sizeof name;
    printf(" | %d", MPI_T_enum_get_info(enumtype, &num, name, &length));
    printf(" %s %d", name, num);
    for (int i = 0; i < num; i++) {
        int item = -1;
        length = sizeof name;
        printf(" %d", MPI_T_enum_get_item(enumtype, i, &item, name, &length));
        printf(" %s=%d", name, item);
    }
}

static void list_cvar(int index, int write)
{
    char name[300] = "", desc[4000] = "";
    int name_len = sizeof name, desc_len = sizeof desc, verbosity = 0, bind = 0, scope = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_T_enum enumtype = MPI_T_ENUM_NULL;
    const int info = MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &datatype, &enumtype,
                                         desc, &desc_len, &bind, &scope);
    if (is_published(name))
        return;
    print_index("cvar", index, at_first[0]);
    printf(" %d %s %d %d %d %d %d %d %s", info, name, name_len, verbosity, number_of(datatype),
           bind, scope, desc_len, desc);
    if (info == MPI_SUCCESS && enumtype != MPI_T_ENUM_NULL)
        list_enum(enumtype);
    if (info == MPI_SUCCESS && !is_unreadable(name))
        read_cvar(index, datatype, write);
    printf("\n");
}

static void read_pvar(int index, int bind, MPI_Datatype datatype)
{
    MPI_Comm self = MPI_COMM_SELF;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count = 0;
    memset(&value, 0, sizeof value);
    MPI_T_pvar_session_create(&session);
    const int result = MPI_T_pvar_handle_alloc(
        session, index, bind == MPI_T_BIND_NO_OBJECT ? NULL : &self, &handle, &count);
    printf(" | %d", result);
    if (result == MPI_SUCCESS) {
        printf(" %d %d", count, MPI_T_pvar_start(session, handle));
        printf(" %d", MPI_T_pvar_read(session, handle, &value));
        print_value(datatype, count);
        printf(" %d", MPI_T_pvar_write(session, handle, &value));
        printf(" %d", MPI_T_pvar_readreset(session, handle, &value));
        printf(" %d", MPI_T_pvar_handle_free(session, &handle));
    }
    MPI_T_pvar_session_free(&session);
}

static void list_pvar(int index, int reads)
{
    char name[300] = "", desc[4000] = "";
    int name_len = sizeof name, desc_len = sizeof desc, verbosity = 0, var_class = 0, bind = 0;
    int readonly = 0, continuous = 0, atomic = 0;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    const int info =
        MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &var_class, &datatype, NULL, desc,
                            &desc_len, &bind, &readonly, &continuous, &atomic);
    if (is_published(name))
        return;
    print_index("pvar", index, at_first[1]);
    printf(" %d %s %d %d %d %d %d %d %d %d %s", info, name, verbosity, var_class,
           number_of(datatype), bind, readonly, continuous, atomic, desc_len, desc);
    if (info == MPI_SUCCESS && reads && !is_unreadable(name))
        read_pvar(index, bind, datatype);
    printf("\n");
}

static void list_category(int index)
{
    static int indices[MOST];
    char name[300] = "", desc[4000] = "";
    int name_len = sizeof name, desc_len = sizeof desc, counts[3] = {0};
    const int info = MPI_T_category_get_info(index, name, &name_len, desc, &desc_len, &counts[0],
                                             &counts[1], &counts[2]);
    if (is_published(name))
        return;
    print_index("category", index, at_first[2]);
    printf(" %d %s %s %d %d %d:", info, name, desc, counts[0], counts[1], counts[2]);
    MPI_T_category_get_cvars(index, MOST, indices);
    for (int i = 0; i < counts[0]; i++)
        print_index("", indices[i], at_first[0]);
    MPI_T_category_get_pvars(index, MOST, indices);
    for (int i = 0; i < counts[1]; i++)
        print_index(" pvar", indices[i], at_first[1]);
    printf("\n");
}

static void list(const char *when, int write, int reads_pvars)
{
    int num = 0;
    printf("%s\n", when);
    MPI_T_cvar_get_num(&num);
    for (int i = 0; i < num; i++)
        list_cvar(i, write);
    MPI_T_pvar_get_num(&num);
    for (int i = 0; i < num; i++)
        list_pvar(i, reads_pvars);
    MPI_T_category_get_num(&num);
    for (int i = 0; i < num; i++)
        list_category(i);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int write = argc > 1 && !strcmp(argv[1], "write");
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    PMPI_T_cvar_get_num(&at_first[0]);
    PMPI_T_pvar_get_num(&at_first[1]);
    PMPI_T_category_get_num(&at_first[2]);
    list("before MPI_Init", write, 0);
    MPI_Init(&argc, &argv);
    list("after MPI_Init", write, 1);
    if (is_open_mpi()) { /* even without libqmpi, Open MPI 4.1.4 crashes if variables are listed
                            after MPI_Finalize, or if MPI_T is finalized after MPI */
        MPI_T_finalize();
        MPI_Finalize();
        return 0;
    }
    MPI_Finalize();
    list("after MPI_Finalize", 0, 0);
    MPI_T_finalize();
    return 0;
}
