/* SPDX-License-Identifier: MIT */
/* See conform.h. Runs the cases, and contains the clients that run them. */
#include "conform.h"

#include <stdlib.h>
#include <string.h>

const char *conform_publisher;

static bool failed;

void conform_fail(const char *file, int line, const char *what, long long got, long long expected)
{
    const char *slash = strrchr(file, '/');
    printf("# %s:%d: %s is %lld, not %lld\n", slash ? slash + 1 : file, line, what, got, expected);
    failed = true;
}

const char *conform_name(const char *name)
{
    static char texts[4][300];
    static int next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "qmpi.%s.%s", conform_publisher, name);
    return text;
}

int conform_cvar(const char *name)
{
    int index = -1;
    if (T(cvar_get_index)(conform_name(name), &index) != MPI_SUCCESS)
        SUCCEEDS(T(cvar_get_index)(name, &index));
    return index;
}

int conform_pvar(const char *name, int var_class)
{
    int index = -1;
    if (T(pvar_get_index)(conform_name(name), var_class, &index) != MPI_SUCCESS)
        SUCCEEDS(T(pvar_get_index)(name, var_class, &index));
    return index;
}

int conform_category(const char *name)
{
    int index = -1;
    if (T(category_get_index)(conform_name(name), &index) != MPI_SUCCESS)
        SUCCEEDS(T(category_get_index)(name, &index));
    return index;
}

void conform_write(const char *name, const void *value)
{
    MPI_T_cvar_handle handle;
    int count;
    SUCCEEDS(T(cvar_handle_alloc)(conform_cvar(name), NULL, &handle, &count));
    SUCCEEDS(T(cvar_write)(handle, value));
    SUCCEEDS(T(cvar_handle_free)(&handle));
}

void conform_set_counter(unsigned long long value)
{
    conform_write("raw.counter", &value);
}

static bool there_is_a_publisher(void)
{
    int index;
    const char *wanted = getenv("CONFORM_PUBLISHER");
    conform_publisher = wanted ? wanted : "publisher";
    return T(category_get_index)(conform_name("group"), &index) == MPI_SUCCESS;
}

static void run_part(const struct conform_case *part, bool publisher)
{
    const char *without = getenv("CONFORM_WITHOUT"); /* the name of a case to leave out */
    for (; part->name; part++) {
        if ((part->need == PUBLISHER && !publisher) || (without && !strcmp(part->name, without))) {
            printf("skip %s\n", part->name);
            continue;
        }
        failed = false;
        part->run();
        printf("%s %s\n", failed ? "not ok" : "ok", part->name);
        fflush(stdout);
    }
}

void conform_run(void)
{
    int provided;
    SUCCEEDS(T(init_thread)(MPI_THREAD_SINGLE, &provided));
    const bool publisher = there_is_a_publisher();
    run_part(conform_general, publisher);
    run_part(conform_cvars, publisher);
    run_part(conform_pvars, publisher);
    run_part(conform_sessions, publisher);
    run_part(conform_categories, publisher);
    SUCCEEDS(T(finalize)());
    fflush(stdout);
}

#if defined(CLIENT_PMPI)
int MPI_Finalize(void)
{
    conform_run();
    return PMPI_Finalize();
}
#elif defined(CLIENT_NATIVE)
#include <qmpi/qmpi.h>

static int finalize(QMPI_Context context)
{
    conform_run();
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

static void init(int tool_id)
{
    QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("conform_native", init);
}
#else
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    conform_run();
    MPI_Finalize();
    return 0;
}
#endif
