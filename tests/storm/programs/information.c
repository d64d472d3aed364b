/* SPDX-License-Identifier: MIT */
/* Steps with MPI's tool information interface (MPI_T). `watch` finds a performance variable that a
 * layer publishes, so that signal handlers may read it. */
#include "information.h"
#include "program.h"

MPI_T_pvar_session storm_pvar_session;
MPI_T_pvar_handle storm_pvar_handle;
int storm_pvar_count;

/* Queries how many variables there are, and the names of some control variables. In Open MPI,
 * variables of components that MPI_Init has closed no longer have a name. Therefore, variables
 * without a name are skipped. */
static void variables(struct storm_thread *thread, const long *a)
{
    int count = -1, length = 0, verbosity, binding, scope;
    char name[256];
    MPI_Datatype datatype;
    MPI_T_enum type;
    (void)thread;
    OK(T_cvar_get_num, (&count));
    CHECK(count > 0);
    for (long i = 0; i < 1 + a[0] % 4; i++) {
        int number = (int)((a[1] + i * 37) % (count > 0 ? count : 1)), found = -1, none = 0;
        length = (int)sizeof name;
        if (M(T_cvar_get_info, (number, name, &length, &verbosity, &datatype, &type, NULL, &none,
                                &binding, &scope)) != MPI_SUCCESS)
            continue;
        OK(T_cvar_get_index, (name, &found));
        CHECK(found >= 0);
    }
    OK(T_pvar_get_num, (&count));
    OK(T_category_get_num, (&count));
}

static void watch(struct storm_thread *thread, const long *a)
{
    int count = 0;
    (void)thread;
    (void)a;
    OK(T_pvar_session_create, (&storm_pvar_session));
    OK(T_pvar_get_num, (&count));
    for (int i = 0; i < count && !storm_pvar_count; i++) {
        char name[256] = "";
        int length = (int)sizeof name, none = 0, verbosity, class, binding, readonly, continuous,
            atomic;
        MPI_Datatype datatype;
        MPI_T_enum type;
        if (M(T_pvar_get_info, (i, name, &length, &verbosity, &class, &datatype, &type, NULL, &none,
                                &binding, &readonly, &continuous, &atomic)) != MPI_SUCCESS)
            continue;
        if (strstr(name, "calls.MPI_Comm_rank"))
            OK(T_pvar_handle_alloc,
               (storm_pvar_session, i, NULL, &storm_pvar_handle, &storm_pvar_count));
    }
}

static void unwatch(struct storm_thread *thread, const long *a)
{
    (void)thread;
    (void)a;
    if (storm_pvar_count)
        OK(T_pvar_handle_free, (storm_pvar_session, &storm_pvar_handle));
    storm_pvar_count = 0;
    OK(T_pvar_session_free, (&storm_pvar_session));
}

const struct storm_action storm_information_actions[] = {
    {"variables", variables}, {"watch", watch}, {"unwatch", unwatch}, {0}};
