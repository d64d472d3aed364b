/* SPDX-License-Identifier: MIT */
/* See counters.h. */
#define _GNU_SOURCE
#include "tools/trace/record/counters.h"

#include "tools/trace/record/call_events.h"
#include "tools/trace/record/objects.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MAX = 16, VALUES_MAX = 512 /* bytes */ };

/* A performance variable. Each element is a counter. */
struct variable {
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    uint32_t first; /* index of the first counter */
    int count;
};

struct counters {
    pthread_mutex_t lock;
    MPI_T_pvar_session session;
    int seen; /* number of variables that were examined */
    struct variable *all;
    size_t room;
    int count;
    uint32_t counters;          /* number of counters that were defined */
    uint64_t interval, sampled; /* ticks */
};

#define CALL(layer, X, NUMBER, ...) CALL_NEXT((layer)->tool_id, X, NUMBER, __VA_ARGS__)

/* ---- Variables ------------------------------------------------------------------------------- */

/* Results of MPI_T_pvar_get_info. */
struct variable_info {
    char name[256], description[512];
    int verbosity, var_class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum values;
};

/* Converts a result of MPI_T_pvar_get_info, which has constants and handles of the program's MPI
 * library, to the standard ABI. */
static void convert_result(const char *parameter, void *value)
{
    const QMPIX_Function *function;
    int index;
    if (QMPIX_Function_describe(MPI_T_PVAR_GET_INFO_T, &function) != MPI_SUCCESS)
        return;
    const QMPIX_Call call = {.function = function};
    if (QMPIX_Call_find_argument(&call, parameter, &index) == MPI_SUCCESS)
        QMPIX_Call_convert_elements(&call, index, value, 1, value);
}

static bool get_variable_info(struct layer *layer, int index, struct variable_info *info)
{
    int name_length = sizeof info->name, description_length = sizeof info->description;
    memset(info, 0, sizeof *info);
    if (CALL(layer, T_pvar_get_info, MPI_T_PVAR_GET_INFO_T, index, info->name, &name_length,
             &info->verbosity, &info->var_class, &info->type, &info->values, info->description,
             &description_length, &info->bind, &info->readonly, &info->continuous,
             &info->atomic) != MPI_SUCCESS)
        return false;
    convert_result("var_class", &info->var_class);
    convert_result("datatype", &info->type);
    convert_result("bind", &info->bind);
    return true;
}

/* Returns whether a variable may be read. After MPI_Init, Open MPI lists variables that crash when
 * they are read: see tools/mpit/variable.h. Therefore, a variable of Open MPI is read only if its
 * full name is given. */
static bool may_be_read(const char *patterns, const char *name)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const size_t wanted = strlen(name);
    int length;
    PMPI_Get_library_version(text, &length);
    if (strncmp(text, "Open MPI", 8) != 0 || !strncmp(name, "qmpi.", 5))
        return true;
    while (*patterns) {
        const size_t size = strcspn(patterns, ";");
        if (size == wanted && !memcmp(patterns, name, size))
            return true;
        patterns += size + (patterns[size] == ';');
    }
    return false;
}

static bool is_number(MPI_Datatype type)
{
    return type == MPI_INT || type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG ||
           type == MPI_UNSIGNED_LONG_LONG || type == MPI_COUNT || type == MPI_DOUBLE;
}

static void define_counter(struct layer *layer, const struct variable_info *info, uint32_t index,
                           int element, int count)
{
    struct record_definition *definition = record_definition_make(DEFINES_COUNTER, index);
    char *name = NULL;
    if (!definition)
        return;
    if (count == 1)
        name = strdup(info->name);
    else if (asprintf(&name, "%s[%d]", info->name, element) < 0)
        name = NULL;
    const bool is_time = info->var_class == MPI_T_PVAR_CLASS_TIMER;
    const char *unit = is_time && info->type == MPI_DOUBLE ? "seconds"
                       : strstr(info->name, "bytes")       ? "bytes"
                                                           : "";
    definition->counter = (struct trace_counter){
        .name = name ? name : strdup(""),
        .description = strdup(info->description),
        .unit = strdup(unit),
        .accumulates = is_time || info->var_class == MPI_T_PVAR_CLASS_COUNTER ||
                       info->var_class == MPI_T_PVAR_CLASS_AGGREGATE};
    record_definition_queue(layer, definition);
}

static void add_counter_variable(struct layer *layer, int index, const struct variable_info *info)
{
    struct counters *counters = layer->counters;
    if (!QMPI_MEMORY_RESERVE(counters->all, counters->room, (size_t)counters->count + 1))
        return;
    struct variable *variable = &counters->all[counters->count];
    *variable = (struct variable){.type = info->type, .first = counters->counters};
    if (CALL(layer, T_pvar_handle_alloc, MPI_T_PVAR_HANDLE_ALLOC_T, counters->session, index, NULL,
             &variable->handle, &variable->count) != MPI_SUCCESS)
        return;
    if (variable->count < 1 || variable->count > ELEMENTS_MAX) {
        CALL(layer, T_pvar_handle_free, MPI_T_PVAR_HANDLE_FREE_T, counters->session,
             &variable->handle);
        return;
    }
    if (!info->continuous)
        CALL(layer, T_pvar_start, MPI_T_PVAR_START_T, counters->session, variable->handle);
    for (int i = 0; i < variable->count; i++)
        define_counter(layer, info, counters->counters++, i, variable->count);
    counters->count++;
}

/* Adds variables that were published since the last call. */
static void add_new_variables(struct layer *layer)
{
    struct counters *counters = layer->counters;
    const char *patterns = layer->options.counters;
    int count = 0;
    next_keep_mpi_t(layer->tool_id);
    CALL(layer, T_pvar_get_num, MPI_T_PVAR_GET_NUM_T, &count);
    for (; counters->seen < count; counters->seen++) {
        struct variable_info info;
        if (get_variable_info(layer, counters->seen, &info) && info.bind == MPI_T_BIND_NO_OBJECT &&
            is_number(info.type) && qmpi_value_matches_patterns(patterns, info.name, false) &&
            may_be_read(patterns, info.name))
            add_counter_variable(layer, counters->seen, &info);
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static double to_double(MPI_Datatype type, const unsigned char *values, int i)
{
    union {
        int integer;
        unsigned plain;
        unsigned long wide;
        unsigned long long wider;
        MPI_Count count;
        double real;
    } value;
#define TAKE(member)                                                                               \
    (memcpy(&value.member, values + (size_t)i * sizeof value.member, sizeof value.member),         \
     (double)value.member)
    return type == MPI_INT                  ? TAKE(integer)
           : type == MPI_UNSIGNED           ? TAKE(plain)
           : type == MPI_UNSIGNED_LONG      ? TAKE(wide)
           : type == MPI_UNSIGNED_LONG_LONG ? TAKE(wider)
           : type == MPI_COUNT              ? TAKE(count)
                                            : TAKE(real);
}

QMPI_COMPUTES static void put_values(struct recorder *recorder, uint64_t ticks)
{
    struct layer *layer = recorder->layer;
    struct counters *counters = layer->counters;
    _Alignas(16) unsigned char values[VALUES_MAX];
    add_new_variables(layer);
    for (int i = 0; i < counters->count; i++) {
        const struct variable *variable = &counters->all[i];
        if (CALL(layer, T_pvar_read, MPI_T_PVAR_READ_T, counters->session, variable->handle,
                 values) != MPI_SUCCESS)
            continue;
        for (int j = 0; j < variable->count; j++) {
            struct trace_event event;
            trace_event_clear(&event, TRACE_COUNTER, ticks);
            event.object = variable->first + (uint32_t)j;
            event.value = to_double(variable->type, values, j);
            recorder_put_event(recorder, &event);
        }
    }
}

void counters_sample(struct recorder *recorder, const QMPIX_Call *call)
{
    struct counters *counters = recorder->layer->counters;
    uint64_t end = 0;
    QMPIX_Call_get_time(call, NULL, &end);
    const bool is_due =
        call->function->number == MPI_PCONTROL_T || !counters ||
        end - __atomic_load_n(&counters->sampled, __ATOMIC_RELAXED) >= counters->interval;
    if (!counters || !is_due || recorder->interrupts ||
        (call->function->group == QMPIX_GROUP_TOOL_INFORMATION &&
         call->function->number != MPI_PCONTROL_T) ||
        pthread_mutex_trylock(&counters->lock))
        return;
    if (counters->session != MPI_T_PVAR_SESSION_NULL) {
        struct qmpi_arithmetic before;
        __atomic_store_n(&counters->sampled, end, __ATOMIC_RELAXED);
        call_events_open_all(recorder);
        qmpi_arithmetic_begin(&before);
        put_values(recorder, end);
        qmpi_arithmetic_end(&before);
    }
    pthread_mutex_unlock(&counters->lock);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

void counters_begin(struct layer *layer)
{
    int provided;
    if (!layer->options.counters || layer->counters)
        return;
    struct counters *counters = calloc(1, sizeof *counters);
    if (!counters)
        return;
    pthread_mutex_init(&counters->lock, NULL);
    QMPIX_Clock_info info = {.size = sizeof info};
    QMPIX_Clock_get_info(&info);
    counters->interval = (uint64_t)((double)layer->options.interval / info.tick);
    counters->session = MPI_T_PVAR_SESSION_NULL;
    layer->counters = counters;
    /* 0 is MPI_THREAD_SINGLE in all MPI libraries. This level suffices, because only one thread at
     * a time makes these calls. */
    if (CALL(layer, T_init_thread, MPI_T_INIT_THREAD_T, 0, &provided) != MPI_SUCCESS ||
        CALL(layer, T_pvar_session_create, MPI_T_PVAR_SESSION_CREATE_T, &counters->session) !=
            MPI_SUCCESS)
        counters->session = MPI_T_PVAR_SESSION_NULL;
}

/* This is a separate function, because CALL cannot call a function without arguments. */
static void finalize_mpi_t(int tool_id)
{
    QMPI_Context context = NULL;
    QMPI_T_finalize_t *function =
        (QMPI_T_finalize_t *)next_find(tool_id, MPI_T_FINALIZE_T, &context);
    function(context);
}

static void say_unmatched(const struct layer *layer)
{
    if (layer->rank == 0 && !layer->counters->count)
        qmpi_printf("trace (layer %d): counters=%s: no performance variable that can be recorded "
                    "has such a name\n"
                    "  hint: `qmpi vars` lists all variables",
                    layer->tool_id, layer->options.counters);
}

void counters_end(struct layer *layer)
{
    struct counters *counters = layer->counters;
    if (!counters)
        return;
    pthread_mutex_lock(&counters->lock);
    if (counters->session != MPI_T_PVAR_SESSION_NULL) {
        add_new_variables(layer);
        say_unmatched(layer);
        for (int i = 0; i < counters->count; i++)
            CALL(layer, T_pvar_handle_free, MPI_T_PVAR_HANDLE_FREE_T, counters->session,
                 &counters->all[i].handle);
        CALL(layer, T_pvar_session_free, MPI_T_PVAR_SESSION_FREE_T, &counters->session);
        finalize_mpi_t(layer->tool_id);
    }
    counters->session = MPI_T_PVAR_SESSION_NULL;
    counters->count = 0;
    pthread_mutex_unlock(&counters->lock);
}
