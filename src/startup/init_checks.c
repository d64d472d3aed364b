/* SPDX-License-Identifier: MIT */
/* See init_checks.h. */
#include "startup/init_checks.h"

#include "process/process.h"
#include "registry/registry.h"
#include "startup/switch.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

static qmpi_function *next_init, *next_init_thread;
static bool checks_wrappers;
static long
    launched; /* the result of count_launched, stored because MPI_Init may change the environment */
static const char *
    batch_system; /* the batch system that started these processes; NULL if a launcher of MPI did */

/* ---- PMPI tools that wrap only one of the functions ------------------------------------------ */

/* Returns whether a wrapper of the layer is in progress. The tool has then started, and no warning
 * is needed: the tool wraps MPI_Init, which the program has called, and a tool below has passed the
 * call on as MPI_Init_thread, for example. */
static bool is_on_stack(const struct qmpi_layer *layer, void *const *frames, int count)
{
    for (int i = 0; i < count; i++) {
        const struct qmpi_layer_group *group = qmpi_layer_group_of(frames[i]);
        if (group && group->layer == layer)
            return true;
    }
    return false;
}

static void check_wrapper_of_layer(const struct qmpi_layer *layer, int called, int other,
                                   void *const *frames, int count)
{
    if (!layer->group || layer->functions[called] || !layer->functions[other] ||
        !qmpi_switch_is_enabled(layer->tool_id) || is_on_stack(layer, frames, count))
        return;
    qmpi_printf("layer %d (%s) wraps %s, but not %s, which was called: the tool has not started, "
                "and its results may be wrong or missing\n"
                "  hint: call %s in the program, or use a version of the tool that wraps both",
                layer->tool_id, layer->name, qmpi_names[other].name, qmpi_names[called].name,
                qmpi_names[other].name);
}

static void check_wrappers(int called, int other)
{
    enum { DEPTH = 256 };
    /* Set by the first call. No other data depends on it. */
    static bool checked;
    void *frames[DEPTH];
    if (__atomic_exchange_n(&checked, true, __ATOMIC_RELAXED) || !qmpi_launcher_reports())
        return;
    const int count = qmpi_call_stack_unwind(frames, DEPTH);
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++)
        check_wrapper_of_layer(qmpi_layer_get(tool_id), called, other, frames, count);
}

/* ---- Singletons ------------------------------------------------------------------------------ */

/* The variables in which the launchers of both MPIs store the number of processes. If both
 * variables are set, one launcher has started the other, and it is unknown which one started this
 * process. */
static const char *const size_variables[] = {
    [QMPI_MPI_MPICH] = "PMI_SIZE",
    [QMPI_MPI_OPEN_MPI] = "OMPI_COMM_WORLD_SIZE",
};

/* Returns the number of processes if they were started by a launcher of another MPI, from which
 * this MPI does not learn its rank, or by a batch system, from which it may not learn its rank.
 * Otherwise, returns 0. Sets `batch_system` if no launcher of MPI was used. */
static long count_launched(void)
{
    const char *value[] = {getenv(size_variables[QMPI_MPI_MPICH]),
                           getenv(size_variables[QMPI_MPI_OPEN_MPI])};
    int size = 0;
    if (!value[QMPI_MPI_MPICH] && !value[QMPI_MPI_OPEN_MPI]) {
        batch_system = qmpi_launcher_batch(&size);
        return batch_system && size > 0 ? size : 0;
    }
    if (!value[QMPI_MPI_MPICH] == !value[QMPI_MPI_OPEN_MPI])
        return 0;
    const enum qmpi_mpi_kind others = value[QMPI_MPI_MPICH] ? QMPI_MPI_MPICH : QMPI_MPI_OPEN_MPI;
    const enum qmpi_mpi_kind mpi = qmpi_mpi_library_implementation();
    return mpi == others || mpi == QMPI_MPI_UNKNOWN ? 0 : strtol(value[others], NULL, 10);
}

static void warn_of_batch_system(enum qmpi_mpi_kind kind)
{
    char *hint = strcmp(batch_system, "Slurm") || kind == QMPI_MPI_UNKNOWN
                     ? qmpi_format("launch with the launcher of the MPI library")
                     : qmpi_format("launch %s programs with srun --mpi=%s, if `srun --mpi=list` "
                                   "lists it, or with mpiexec.%s",
                                   kind == QMPI_MPI_MPICH ? "MPICH" : "Open MPI",
                                   kind == QMPI_MPI_MPICH ? "pmi2" : "pmix",
                                   qmpi_mpi_descriptions[kind].build);
    qmpi_printf("%s started %ld processes, but each of them is rank 0 of 1: the MPI library has "
                "not learnt its rank from %s\n  hint: %s",
                batch_system, launched, batch_system, hint);
    free(hint);
}

static void check_launcher(int result)
{
    int size = 0;
    if (launched < 2 || result != MPI_SUCCESS || !qmpi_launcher_reports() ||
        QMPI_PMPI(Comm_size, COMM_SIZE)(MPI_COMM_WORLD, &size) != MPI_SUCCESS || size != 1)
        return;
    const enum qmpi_mpi_kind kind = qmpi_mpi_library_implementation();
    if (batch_system) {
        warn_of_batch_system(kind);
        return;
    }
    const char *build = qmpi_mpi_descriptions[kind].build;
    qmpi_printf(
        "the launcher started %ld processes, but each of them is rank 0 of 1: the launcher "
        "belongs to another MPI\n  hint: launch with mpiexec.%s, or with the launcher of %s "
        "on this system",
        launched, build, build);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static int check_init(int *argc, char ***argv)
{
    if (checks_wrappers)
        check_wrappers(MPI_INIT_T, MPI_INIT_THREAD_T);
    const int result = ((__typeof__(&MPI_Init))next_init)(argc, argv);
    check_launcher(result);
    return result;
}

static int check_init_thread(int *argc, char ***argv, int required, int *provided)
{
    if (checks_wrappers)
        check_wrappers(MPI_INIT_THREAD_T, MPI_INIT_T);
    const int result =
        ((__typeof__(&MPI_Init_thread))next_init_thread)(argc, argv, required, provided);
    check_launcher(result);
    return result;
}

void qmpi_init_checks_watch(qmpi_function **targets, bool has_pmpi_layers)
{
    checks_wrappers = has_pmpi_layers && targets[MPI_INIT_T] && targets[MPI_INIT_THREAD_T];
    launched = count_launched();
    if (!checks_wrappers && launched < 2)
        return;
    next_init = targets[MPI_INIT_T];
    next_init_thread = targets[MPI_INIT_THREAD_T];
    if (next_init)
        targets[MPI_INIT_T] = (qmpi_function *)check_init;
    if (next_init_thread)
        targets[MPI_INIT_THREAD_T] = (qmpi_function *)check_init_thread;
}
