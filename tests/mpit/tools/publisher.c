/* SPDX-License-Identifier: MIT */
/*
 * A layer that publishes variables of every class. The values of most of its performance variables
 * come from control variables (`raw.…`), so that any client of MPI_T can set them, at any position
 * in the stack. Writing to the control variable `publish` publishes more variables.
 */
#include "library_names.h"

#include <qmpi/mpit.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layer {
    int tool_id;
    unsigned long long counter, level;
    unsigned small;
    double real, part;
    int state, depth, generic[3], called, limit, locked, published;
    unsigned long size;
    unsigned long long array[4];
    unsigned long long freed[2]; /* a session, and one of its handles, which the next call of
                                    read_comm frees */
    char text[16], letters[4];
    double halves[2];
    int high, low, wide; /* indices of these watermarks */
    MPI_T_enum states;
};

static void check(const char *what, int result)
{
    if (result == MPI_SUCCESS)
        return;
    fprintf(stderr, "publisher: %s: %d\n", what, result);
    abort();
}

static int publish(struct layer *layer, QMPIX_Pvar pvar)
{
    int index = -1;
    pvar.size = sizeof pvar;
    check(pvar.name, QMPIX_Pvar_create(layer->tool_id, &pvar, &index));
    return index;
}

static void offer_constant(const struct layer *layer, QMPIX_Cvar cvar)
{
    cvar.size = sizeof cvar;
    cvar.scope = MPI_T_SCOPE_CONSTANT; /* 0 in Open MPI, a value that offer() would replace */
    check(cvar.name, QMPIX_Cvar_create(layer->tool_id, &cvar, NULL));
}

static void offer(const struct layer *layer, QMPIX_Cvar cvar)
{
    cvar.size = sizeof cvar;
    cvar.scope = cvar.scope ? cvar.scope : MPI_T_SCOPE_LOCAL;
    check(cvar.name, QMPIX_Cvar_create(layer->tool_id, &cvar, NULL));
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static int read_called(void *user, const void *object, void *buffer, int count)
{
    const struct layer *layer = user;
    if (object || count != 1)
        return MPI_T_ERR_INVALID;
    memcpy(buffer, &layer->called, sizeof layer->called);
    return MPI_SUCCESS;
}

static int write_called(void *user, const void *object, const void *buffer, int count)
{
    struct layer *layer = user;
    if (object || count != 1)
        return MPI_T_ERR_INVALID;
    memcpy(&layer->called, buffer, sizeof layer->called);
    return MPI_SUCCESS;
}

static int reset_called(void *user, const void *object)
{
    struct layer *layer = user;
    (void)object;
    layer->called = 42;
    return MPI_SUCCESS;
}

/* The variable has two elements for MPI_COMM_WORLD and one for other communicators. It cannot be
 * bound to a null handle. */
static int open_comm(void *user, const void *object, int *count)
{
    MPI_Comm comm;
    (void)user;
    memcpy(&comm, object, sizeof comm);
    if (comm == MPI_COMM_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    *count = comm == MPI_COMM_WORLD ? 2 : 1;
    return MPI_SUCCESS;
}

static int read_comm(void *user, const void *object, void *buffer, int count)
{
    struct layer *layer = user;
    int *values = buffer;
    MPI_Comm comm;
    if (layer->freed[1]) {
        MPI_T_pvar_handle handle = (MPI_T_pvar_handle)(uintptr_t)layer->freed[1];
        layer->freed[1] = 0;
        check("free",
              MPI_T_pvar_handle_free((MPI_T_pvar_session)(uintptr_t)layer->freed[0], &handle));
    }
    memcpy(&comm, object, sizeof comm);
    for (int i = 0; i < count; i++)
        values[i] = layer->depth + (comm == MPI_COMM_WORLD ? 100 : 200) + i;
    return MPI_SUCCESS;
}

/* The publisher refuses larger levels. */
#define LEVEL_MAX (1ULL << 62)

/* Sets the level of the watermarks and samples them. */
static int write_level(void *user, const void *object, const void *buffer, int count)
{
    struct layer *layer = user;
    unsigned long long level;
    (void)object;
    (void)count;
    memcpy(&level, buffer, sizeof level);
    if (level > LEVEL_MAX)
        return MPI_T_ERR_INVALID;
    layer->level = level;
    check("high", QMPIX_Pvar_sample(layer->high));
    check("low", QMPIX_Pvar_sample(layer->low));
    check("wide", QMPIX_Pvar_sample(layer->wide));
    return MPI_SUCCESS;
}

static int read_level(void *user, const void *object, void *buffer, int count)
{
    (void)object;
    (void)count;
    memcpy(buffer, &((const struct layer *)user)->level, sizeof(unsigned long long));
    return MPI_SUCCESS;
}

/* Stores the level plus i in element i, or fails in the state "lost". */
static int read_wide(void *user, const void *object, void *buffer, int count)
{
    const struct layer *layer = user;
    unsigned long long *levels = buffer;
    (void)object;
    if (layer->state == -1)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < count; i++)
        levels[i] = layer->level + (unsigned long long)i;
    return MPI_SUCCESS;
}

static int not_now(void *user, const void *object, const void *buffer, int count)
{
    (void)user;
    (void)object;
    (void)buffer;
    (void)count;
    return MPI_T_ERR_CVAR_SET_NOT_NOW;
}

static int read_zero(void *user, const void *object, void *buffer, int count)
{
    (void)user;
    (void)object;
    memset(buffer, 0, (size_t)count * sizeof(int));
    return MPI_SUCCESS;
}

/* Publishes a performance variable, a control variable and a category. The number that was written
 * is part of their name. */
static int write_publish(void *user, const void *object, const void *buffer, int count)
{
    struct layer *layer = user;
    char name[64];
    (void)object;
    (void)count;
    memcpy(&layer->published, buffer, sizeof layer->published);
    snprintf(name, sizeof name, "late.%d", layer->published);
    publish(layer, (QMPIX_Pvar){.name = name,
                                .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                .datatype = MPI_UNSIGNED_LONG_LONG,
                                .category = "group",
                                .address = &layer->counter});
    offer(layer, (QMPIX_Cvar){.name = name, .datatype = MPI_INT, .address = &layer->limit});
    const QMPIX_Category category = {.size = sizeof category, .name = name};
    check(name, QMPIX_Category_create(layer->tool_id, &category, NULL));
    return MPI_SUCCESS;
}

/* ---- Published variables --------------------------------------------------------------------- */

static void publish_sums(struct layer *layer)
{
    publish(layer, (QMPIX_Pvar){.name = "calls",
                                .description = "Counts what its raw variable is raised by",
                                .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                .datatype = MPI_UNSIGNED_LONG_LONG,
                                .category = "group",
                                .flags = QMPIX_PVAR_ATOMIC,
                                .address = &layer->counter});
    publish(layer, (QMPIX_Pvar){.name = "total",
                                .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
                                .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                .datatype = MPI_UNSIGNED_LONG_LONG,
                                .category = "inner",
                                .flags = QMPIX_PVAR_ATOMIC | QMPIX_PVAR_CONTINUOUS,
                                .address = &layer->counter});
    publish(layer, (QMPIX_Pvar){.name = "small",
                                .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                .datatype = MPI_UNSIGNED,
                                .address = &layer->small});
    publish(layer, (QMPIX_Pvar){.name = "bytes",
                                .var_class = MPI_T_PVAR_CLASS_AGGREGATE,
                                .datatype = MPI_DOUBLE,
                                .address = &layer->real});
    publish(layer, (QMPIX_Pvar){.name = "time",
                                .var_class = MPI_T_PVAR_CLASS_TIMER,
                                .datatype = MPI_DOUBLE,
                                .flags = QMPIX_PVAR_READONLY | QMPIX_PVAR_CONTINUOUS,
                                .address = &layer->real});
    publish(layer, (QMPIX_Pvar){.name = "array",
                                .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                .datatype = MPI_UNSIGNED_LONG_LONG,
                                .count = 4,
                                .address = layer->array});
}

static void publish_levels(struct layer *layer)
{
    layer->high = publish(layer, (QMPIX_Pvar){.name = "high",
                                              .var_class = MPI_T_PVAR_CLASS_HIGHWATERMARK,
                                              .datatype = MPI_UNSIGNED_LONG_LONG,
                                              .flags = QMPIX_PVAR_ATOMIC,
                                              .address = &layer->level});
    layer->low = publish(layer, (QMPIX_Pvar){.name = "low",
                                             .var_class = MPI_T_PVAR_CLASS_LOWWATERMARK,
                                             .datatype = MPI_UNSIGNED_LONG_LONG,
                                             .flags = QMPIX_PVAR_CONTINUOUS,
                                             .address = &layer->level});
    layer->wide = publish(layer, (QMPIX_Pvar){.name = "wide",
                                              .var_class = MPI_T_PVAR_CLASS_HIGHWATERMARK,
                                              .datatype = MPI_UNSIGNED_LONG_LONG,
                                              .count = 40,
                                              .read = read_wide,
                                              .user = layer});
    publish(layer, (QMPIX_Pvar){.name = "peak",
                                .var_class = MPI_T_PVAR_CLASS_HIGHWATERMARK,
                                .datatype = MPI_DOUBLE,
                                .address = &layer->real});
    publish(layer, (QMPIX_Pvar){.name = "trough",
                                .var_class = MPI_T_PVAR_CLASS_LOWWATERMARK,
                                .datatype = MPI_DOUBLE,
                                .address = &layer->real});
    publish(layer, (QMPIX_Pvar){.name = "state",
                                .var_class = MPI_T_PVAR_CLASS_STATE,
                                .datatype = MPI_INT,
                                .enumtype = layer->states,
                                .address = &layer->state});
    publish(layer, (QMPIX_Pvar){.name = "depth",
                                .var_class = MPI_T_PVAR_CLASS_LEVEL,
                                .datatype = MPI_INT,
                                .address = &layer->depth});
    publish(layer, (QMPIX_Pvar){.name = "size",
                                .var_class = MPI_T_PVAR_CLASS_SIZE,
                                .datatype = MPI_UNSIGNED_LONG,
                                .flags = QMPIX_PVAR_READONLY | QMPIX_PVAR_CONTINUOUS,
                                .address = &layer->size});
    publish(layer, (QMPIX_Pvar){.name = "part",
                                .var_class = MPI_T_PVAR_CLASS_PERCENTAGE,
                                .datatype = MPI_DOUBLE,
                                .flags = QMPIX_PVAR_READONLY | QMPIX_PVAR_CONTINUOUS,
                                .address = &layer->part});
    publish(layer, (QMPIX_Pvar){.name = "generic",
                                .var_class = MPI_T_PVAR_CLASS_GENERIC,
                                .datatype = MPI_INT,
                                .count = 3,
                                .flags = QMPIX_PVAR_ATOMIC | QMPIX_PVAR_CONTINUOUS,
                                .address = layer->generic});
    publish(layer, (QMPIX_Pvar){.name = "letters",
                                .var_class = MPI_T_PVAR_CLASS_GENERIC,
                                .datatype = MPI_CHAR,
                                .count = 4,
                                .flags = QMPIX_PVAR_ATOMIC,
                                .address = layer->letters});
    publish(layer, (QMPIX_Pvar){.name = "halves",
                                .var_class = MPI_T_PVAR_CLASS_GENERIC,
                                .datatype = MPI_DOUBLE,
                                .count = 2,
                                .flags = QMPIX_PVAR_ATOMIC,
                                .address = layer->halves});
    publish(layer, (QMPIX_Pvar){.name = "called",
                                .var_class = MPI_T_PVAR_CLASS_GENERIC,
                                .datatype = MPI_INT,
                                .read = read_called,
                                .write = write_called,
                                .reset = reset_called,
                                .user = layer});
    publish(layer, (QMPIX_Pvar){.name = "publisher_bound",
                                .var_class = MPI_T_PVAR_CLASS_LEVEL,
                                .datatype = MPI_INT,
                                .bind = MPI_T_BIND_MPI_COMM,
                                .flags = QMPIX_BARE_NAME | QMPIX_PVAR_READONLY,
                                .read = read_comm,
                                .open = open_comm,
                                .user = layer});
}

static void publish_cvars(struct layer *layer)
{
    offer(layer, (QMPIX_Cvar){.name = "raw.counter",
                              .datatype = MPI_UNSIGNED_LONG_LONG,
                              .address = &layer->counter});
    offer(layer,
          (QMPIX_Cvar){.name = "raw.small", .datatype = MPI_UNSIGNED, .address = &layer->small});
    offer(layer, (QMPIX_Cvar){.name = "raw.real", .datatype = MPI_DOUBLE, .address = &layer->real});
    offer(layer, (QMPIX_Cvar){.name = "raw.level",
                              .datatype = MPI_UNSIGNED_LONG_LONG,
                              .read = read_level,
                              .write = write_level,
                              .user = layer});
    offer(layer, (QMPIX_Cvar){.name = "raw.depth", .datatype = MPI_INT, .address = &layer->depth});
    offer(layer, (QMPIX_Cvar){.name = "raw.state",
                              .datatype = MPI_INT,
                              .enumtype = layer->states,
                              .address = &layer->state});
    offer(layer, (QMPIX_Cvar){.name = "raw.array",
                              .datatype = MPI_UNSIGNED_LONG_LONG,
                              .count = 4,
                              .address = layer->array});
    offer(layer, (QMPIX_Cvar){.name = "freed",
                              .datatype = MPI_UNSIGNED_LONG_LONG,
                              .count = 2,
                              .address = layer->freed});
    offer(layer, (QMPIX_Cvar){.name = "limit",
                              .description = "A number",
                              .datatype = MPI_INT,
                              .scope = MPI_T_SCOPE_ALL_EQ,
                              .category = "inner",
                              .address = &layer->limit});
    offer(layer,
          (QMPIX_Cvar){.name = "text", .datatype = MPI_CHAR, .count = 16, .address = layer->text});
    offer_constant(
        layer, (QMPIX_Cvar){.name = "constant", .datatype = MPI_DOUBLE, .address = &layer->part});
    offer(layer, (QMPIX_Cvar){.name = "readonly",
                              .datatype = MPI_UNSIGNED_LONG,
                              .scope = MPI_T_SCOPE_READONLY,
                              .address = &layer->size});
    offer(layer,
          (QMPIX_Cvar){.name = "locked", .datatype = MPI_INT, .read = read_zero, .write = not_now});
    offer(layer, (QMPIX_Cvar){.name = "bound",
                              .datatype = MPI_INT,
                              .scope = MPI_T_SCOPE_READONLY,
                              .bind = MPI_T_BIND_MPI_COMM,
                              .read = read_comm,
                              .open = open_comm,
                              .user = layer});
    offer(layer, (QMPIX_Cvar){.name = "publish",
                              .datatype = MPI_INT,
                              .read = read_zero,
                              .write = write_publish,
                              .user = layer});
    /* This name is also used by the MPI library, so this variable gets the long name. */
    offer(layer, (QMPIX_Cvar){.name = TAKEN_NAME,
                              .datatype = MPI_INT,
                              .flags = QMPIX_BARE_NAME,
                              .address = &layer->locked});
}

static void init(int tool_id)
{
    static const QMPIX_Enum_item items[] = {{"idle", 0}, {"busy", 5}, {"lost", -1}};
    const QMPIX_Enum states = {.size = sizeof states, .name = "states", .count = 3, .items = items};
    const QMPIX_Category group = {
        .size = sizeof group, .name = "group", .description = "Some of them"};
    const QMPIX_Category inner = {.size = sizeof inner, .name = "inner", .parent = "group"};
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        abort();
    *layer = (struct layer){.tool_id = tool_id,
                            .level = 50,
                            .part = 0.25,
                            .size = 4096,
                            .limit = 7,
                            .generic = {1, 2, 3},
                            .text = "as it was",
                            .letters = "abc",
                            .halves = {0.5, -1.5}};
    check("states", QMPIX_Enum_create(tool_id, &states, &layer->states));
    check("group", QMPIX_Category_create(tool_id, &group, NULL));
    check("inner", QMPIX_Category_create(tool_id, &inner, NULL));
    publish_sums(layer);
    publish_levels(layer);
    publish_cvars(layer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("publisher", init);
}
