/* SPDX-License-Identifier: MIT */
/* See conditions.h. */
#include "startup/conditions.h"

#include "config/config.h"
#include "loader/loader.h"
#include "observe/observe.h"
#include "process/process.h"
#include "startup/switch.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* ---- @functions ------------------------------------------------------------------------------ */

_Static_assert(QMPIX_GROUP_POINT_TO_POINT == 1 << 0 && QMPIX_GROUP_IO == 1 << 4 &&
                   QMPIX_GROUP_TOOL_INFORMATION == 1 << 12,
               "util/value.c has the groups in another order");

static bool describe_function(int number, const char **name, unsigned *group)
{
    const QMPIX_Function *function;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
        return false;
    *name = function->name;
    *group = function->group;
    return true;
}

struct intersection {
    unsigned char listed[QMPI_FUNCTION_COUNT]; /* whether all lists so far contain the function */
    char *problem;
};

static void intersect_list(void *data, enum qmpi_tool_reserved option, const char *value)
{
    struct intersection *all = data;
    unsigned char listed[QMPI_FUNCTION_COUNT];
    if (option != QMPI_RESERVED_FUNCTIONS || all->problem)
        return;
    char *item = qmpi_value_read_functions(value, QMPI_FUNCTION_COUNT, describe_function, listed);
    if (item)
        all->problem =
            qmpi_value_refuse_functions(qmpi_tool_reserved_name(QMPI_RESERVED_FUNCTIONS), item);
    free(item);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        all->listed[number] = all->listed[number] && listed[number];
}

/* Sets all->listed to the functions that all lists of an entry contain. Returns NULL, or a problem,
 * which the caller frees. */
static char *intersect_functions(const struct qmpi_tool_entry *entry, struct intersection *all)
{
    all->problem = NULL;
    memset(all->listed, 1, sizeof all->listed);
    qmpi_condition_each(entry, intersect_list, all);
    return all->problem;
}

static bool has_functions(const struct qmpi_tool_entry *entry)
{
    return entry->reserved[QMPI_RESERVED_FUNCTIONS] != NULL;
}

static bool has_conditions(const struct qmpi_tool_entry *entry)
{
    return has_functions(entry) || qmpi_condition_may_be_unmet(entry);
}

char *qmpi_conditions_check(const struct qmpi_tool_entry *entry)
{
    struct intersection all;
    return has_functions(entry) ? intersect_functions(entry, &all) : NULL;
}

static void limit_layer(struct qmpi_layer *layer)
{
    struct intersection all;
    free(intersect_functions(layer->entry, &all)); /* NULL, because of qmpi_conditions_check */
    unsigned char *listed = qmpi_memory_permanent(sizeof all.listed, 1);
    memcpy(listed, all.listed, sizeof all.listed);
    qmpi_switch_limit(layer->tool_id, listed);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (listed[number] || qmpi_switch_passes_always(layer->tool_id, number))
            continue;
        layer->functions[number] = NULL;
        if (layer->mpich_functions)
            layer->mpich_functions[number] = NULL;
        if (layer->observing)
            layer->observing[number] = NULL;
    }
}

/* ---- While the stack is built ---------------------------------------------------------------- */

/* Exempts three functions from conditions. PMPI tools start and finish in these functions, many
 * communicate there, and a PMPI tool cannot declare which functions it needs. */
static void pass_init_and_finalize(int tool_id)
{
    qmpi_switch_pass_always(tool_id, MPI_INIT_T);
    qmpi_switch_pass_always(tool_id, MPI_INIT_THREAD_T);
    qmpi_switch_pass_always(tool_id, MPI_FINALIZE_T);
}

char *qmpi_conditions_apply(struct qmpi_layer *layer)
{
    const struct qmpi_tool_entry *entry = layer->entry;
    if (!has_conditions(entry))
        return NULL;
    if (layer->preloaded && layer->preloaded->program)
        return qmpi_copy("the program itself contains this tool and calls it directly, so it "
                         "cannot be switched off\nhint: remove the conditions");
    const struct qmpi_condition_place place = qmpi_condition_place_here(qmpi_launcher_rank());
    char *unmet = qmpi_condition_unmet(entry, &place);
    if (unmet) {
        qmpi_switch_start_off(layer->tool_id);
        qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d (%s) starts switched off: %s", layer->tool_id,
                   layer->name, unmet);
    }
    free(unmet);
    return NULL;
}

void qmpi_conditions_complete(struct qmpi_layer *layer, bool pmpi_tool)
{
    if (pmpi_tool && has_conditions(layer->entry))
        pass_init_and_finalize(layer->tool_id);
    if (has_functions(layer->entry))
        limit_layer(layer);
}

/* ---- The rank -------------------------------------------------------------------------------- */

static qmpi_function *next_init, *next_init_thread, *next_session_init, *next_pcontrol;
/* The rank in MPI_COMM_WORLD, or -1 if MPI has not told it yet. Stored by the thread that
 * initializes MPI. No other data depends on it. */
static int known_rank = -1;

/* Warns if no process has a rank in @ranks. Entries of configuration files are excluded, because
 * they may be meant for jobs of another size. */
static void warn_of_no_rank(const struct qmpi_layer *layer, int size)
{
    const struct qmpi_tool_entry *entry = layer->entry;
    const char *set = entry->reserved[QMPI_RESERVED_RANKS];
    if (!set || entry->scope != QMPI_SCOPE_VARIABLE)
        return;
    struct qmpi_condition_place place = {.rank = 0};
    bool any = false;
    for (; place.rank < size && !any; place.rank++)
        any = qmpi_condition_holds_all(entry, QMPI_RESERVED_RANKS, &place);
    if (any)
        return;
    char *where = qmpi_problem_where(entry);
    qmpi_printf("%s: no process of this job has a rank in '@ranks'\n"
                "  hint: give ranks below %d, the number of its processes",
                where, size);
    free(where);
}

static void apply_rank(int rank, int size)
{
    /* Set by the first call. No other data depends on it. */
    static bool known;
    if (__atomic_exchange_n(&known, true, __ATOMIC_ACQ_REL))
        return;
    __atomic_store_n(&known_rank, rank, __ATOMIC_RELEASE);
    const struct qmpi_condition_place place = qmpi_condition_place_here(rank);
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
        if (!layer->entry->reserved[QMPI_RESERVED_RANKS])
            continue;
        char *unmet = qmpi_condition_unmet(layer->entry, &place);
        qmpi_switch_apply_condition(tool_id, !unmet);
        free(unmet);
        if (rank == 0)
            warn_of_no_rank(layer, size);
    }
}

static int ask_world(int result)
{
    int rank, size;
    if (result == MPI_SUCCESS &&
        QMPI_PMPI(Comm_rank, COMM_RANK)(MPI_COMM_WORLD, &rank) == MPI_SUCCESS &&
        QMPI_PMPI(Comm_size, COMM_SIZE)(MPI_COMM_WORLD, &size) == MPI_SUCCESS)
        apply_rank(rank, size);
    return result;
}

static int learn_in_init(int *argc, char ***argv)
{
    return ask_world(((__typeof__(&MPI_Init))next_init)(argc, argv));
}

static int learn_in_init_thread(int *argc, char ***argv, int required, int *provided)
{
    return ask_world(
        ((__typeof__(&MPI_Init_thread))next_init_thread)(argc, argv, required, provided));
}

#ifdef MPI_SESSION_NULL
/* Gets the rank from a session. A program with sessions may have no MPI_COMM_WORLD, but the ranks
 * in mpi://WORLD are the same. */
static void ask_session(MPI_Session session)
{
    MPI_Group group;
    int rank = MPI_UNDEFINED, size = 0;
    if (QMPI_PMPI(Group_from_session_pset, GROUP_FROM_SESSION_PSET)(session, "mpi://WORLD",
                                                                    &group) != MPI_SUCCESS)
        return;
    QMPI_PMPI(Group_rank, GROUP_RANK)(group, &rank);
    QMPI_PMPI(Group_size, GROUP_SIZE)(group, &size);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    if (rank >= 0)
        apply_rank(rank, size);
}

static int learn_in_session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    const int result = ((__typeof__(&MPI_Session_init))next_session_init)(info, handler, session);
    if (result == MPI_SUCCESS)
        ask_session(*session);
    return result;
}
#endif

static void wrap_target(qmpi_function **targets, int number, qmpi_function **next,
                        qmpi_function *function)
{
    *next = targets[number];
    if (*next)
        targets[number] = function;
}

void qmpi_conditions_watch(qmpi_function **targets)
{
    wrap_target(targets, MPI_INIT_T, &next_init, (qmpi_function *)learn_in_init);
    wrap_target(targets, MPI_INIT_THREAD_T, &next_init_thread,
                (qmpi_function *)learn_in_init_thread);
#ifdef MPI_SESSION_NULL
    wrap_target(targets, MPI_SESSION_INIT_T, &next_session_init,
                (qmpi_function *)learn_in_session_init);
#endif
    (void)next_session_init;
}

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */

/* Switches on the layers that @enabled=no has left off, if their other conditions hold: the program
 * begins the part of the run that is to be measured. */
static void begin_layers(void)
{
    const int rank = __atomic_load_n(&known_rank, __ATOMIC_ACQUIRE);
    qmpi_condition_begin();
    const struct qmpi_condition_place place =
        qmpi_condition_place_here(rank < 0 ? qmpi_launcher_rank() : rank);
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
        char *unmet = layer->entry->reserved[QMPI_RESERVED_ENABLED]
                          ? qmpi_condition_unmet(layer->entry, &place)
                          : NULL;
        if (layer->entry->reserved[QMPI_RESERVED_ENABLED])
            qmpi_switch_apply_condition(tool_id, !unmet);
        free(unmet);
    }
}

QMPIX_PCONTROL_READER static int begin_in_pcontrol(const int level, ...)
{
    /* Set by the first call. No other data depends on it. */
    static bool begun;
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    if (level == 1 && !__atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
        begin_layers();
    return ((__typeof__(&MPI_Pcontrol))next_pcontrol)(level, QMPIX_PCONTROL_PASS(words));
}

void qmpi_conditions_watch_pcontrol(qmpi_function **targets)
{
    wrap_target(targets, MPI_PCONTROL_T, &next_pcontrol, (qmpi_function *)begin_in_pcontrol);
}
