/* SPDX-License-Identifier: MIT */
/*
 * Tries to publish invalid items, and prints each result that is not the expected one. Then four
 * threads publish variables at the same time. Each variable is published twice, and the second
 * attempt must be refused. With the option `fail`, the tool then calls QMPIX_Tool_fail, after which
 * none of its functions may be called.
 */
#include <qmpi/mpit.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long number;
static double real;
static int integer;
static int me;

static int nothing(void *user, const void *object, void *buffer, int count)
{
    (void)user;
    (void)object;
    (void)buffer;
    (void)count;
    return MPI_SUCCESS;
}

static int write_nothing(void *user, const void *object, const void *buffer, int count)
{
    (void)user;
    (void)object;
    (void)buffer;
    (void)count;
    return MPI_SUCCESS;
}

static void expect(int line, int got, int expected)
{
    if (got != expected)
        fprintf(stderr, "trace: misfit: line %d: %d, not %d\n", line, got, expected);
}

#define REFUSED(...) expect(__LINE__, pvar((QMPIX_Pvar){__VA_ARGS__}), MPI_ERR_ARG)
#define COUNTER(...)                                                                               \
    REFUSED(.name = "x", .var_class = MPI_T_PVAR_CLASS_COUNTER,                                    \
            .datatype = MPI_UNSIGNED_LONG_LONG, __VA_ARGS__)
#define CVAR_REFUSED(...)                                                                          \
    expect(__LINE__,                                                                               \
           cvar((QMPIX_Cvar){                                                                      \
               .name = "x", .datatype = MPI_INT, .scope = MPI_T_SCOPE_LOCAL, __VA_ARGS__}),        \
           MPI_ERR_ARG)

static int pvar(QMPIX_Pvar pvar)
{
    pvar.size = sizeof pvar;
    return QMPIX_Pvar_create(me, &pvar, NULL);
}

static int cvar(QMPIX_Cvar cvar)
{
    cvar.size = sizeof cvar;
    return QMPIX_Cvar_create(me, &cvar, NULL);
}

#pragma GCC diagnostic ignored "-Woverride-init"

static void refuse_pvars(void)
{
    const QMPIX_Pvar good = {.size = sizeof good,
                             .name = "good",
                             .var_class = MPI_T_PVAR_CLASS_COUNTER,
                             .datatype = MPI_UNSIGNED_LONG_LONG,
                             .address = &number};
    QMPIX_Pvar small = good;
    small.size = 8;
    expect(__LINE__, QMPIX_Pvar_create(me, &small, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Pvar_create(me, NULL, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Pvar_create(0, &good, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Pvar_create(99, &good, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Pvar_create(-1, &good, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Pvar_create(me, &good, NULL), MPI_SUCCESS);
    expect(__LINE__, QMPIX_Pvar_create(me, &good, NULL), MPI_ERR_ARG); /* the name is in use */
    COUNTER(.address = NULL);
    COUNTER(.name = NULL, .address = &number);
    COUNTER(.name = "", .address = &number);
    COUNTER(.name = "a\nb", .address = &number);
    COUNTER(.address = &number, .read = nothing);
    COUNTER(.address = &number, .write = write_nothing);
    COUNTER(.address = &number, .count = -1);
    COUNTER(.address = (char *)&number + 1);
    COUNTER(.address = &number, .flags = 1 << 20);
    COUNTER(.address = &number, .verbosity = -1);
    COUNTER(.address = &number, .bind = -1);
    COUNTER(.address = &number, .bind = MPI_T_BIND_MPI_COMM);
    COUNTER(.address = &number, .category = "no such category");
    COUNTER(.address = &number, .datatype = MPI_INT);
    COUNTER(.address = &number, .datatype = MPI_DOUBLE);
    COUNTER(.address = &number, .datatype = MPI_FLOAT);
    COUNTER(.address = &number, .datatype = MPI_DATATYPE_NULL);
    COUNTER(.address = &number, .var_class = -1);
#ifndef OPEN_MPI /* in Open MPI, 0 is a valid class and scope */
    COUNTER(.address = &number, .var_class = 0);
    CVAR_REFUSED(.address = &integer, .scope = 0);
#endif
    COUNTER(.address = &number, .var_class = MPI_T_PVAR_CLASS_PERCENTAGE);
    REFUSED(.name = "x", .var_class = MPI_T_PVAR_CLASS_STATE, .datatype = MPI_DOUBLE,
            .address = &real);
    REFUSED(.name = "x", .var_class = MPI_T_PVAR_CLASS_GENERIC, .datatype = MPI_INT,
            .read = nothing); /* without a callback for writing, although it is not readonly */
    REFUSED(.name = "x", .var_class = MPI_T_PVAR_CLASS_GENERIC, .datatype = MPI_INT,
            .read = nothing, .write = write_nothing, .flags = QMPIX_PVAR_ATOMIC);
}

static void refuse_others(void)
{
    const QMPIX_Enum_item item = {"one", 1}, unnamed = {NULL, 1};
    const QMPIX_Enum empty = {.size = sizeof empty, .name = "e", .count = 0, .items = &item};
    const QMPIX_Enum bad = {.size = sizeof bad, .name = "e", .count = 1, .items = &unnamed};
    const QMPIX_Enum good = {.size = sizeof good, .name = "e", .count = 1, .items = &item};
    const QMPIX_Enum_item names[] = {{"one", 1}, {"two", 2}, {"one", 3}};
    const QMPIX_Enum_item values[] = {{"one", 1}, {"two", 2}, {"three", 1}};
    const QMPIX_Enum same_names = {
        .size = sizeof same_names, .name = "s", .count = 3, .items = names};
    const QMPIX_Enum same_values = {
        .size = sizeof same_values, .name = "s", .count = 3, .items = values};
    const QMPIX_Category group = {.size = sizeof group, .name = "group"};
    const QMPIX_Category lost = {.size = sizeof lost, .name = "lost", .parent = "nowhere"};
    MPI_T_enum made;
    expect(__LINE__, QMPIX_Enum_create(me, &empty, &made), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Enum_create(me, &bad, &made), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Enum_create(me, &good, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Enum_create(me, &same_names, &made), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Enum_create(me, &same_values, &made), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Enum_create(99, &good, &made), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Enum_create(me, &good, &made), MPI_SUCCESS);
    expect(__LINE__, QMPIX_Enum_create(me, &good, &made), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Category_create(me, &group, NULL), MPI_SUCCESS);
    expect(__LINE__, QMPIX_Category_create(me, &group, NULL), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Category_create(me, &lost, NULL), MPI_ERR_ARG);
    CVAR_REFUSED(.address = NULL);
    CVAR_REFUSED(.address = &integer, .scope = -1);
    CVAR_REFUSED(.address = &integer, .write = write_nothing);
    CVAR_REFUSED(.read = nothing);
    CVAR_REFUSED(.read = nothing, .write = write_nothing, .scope = MPI_T_SCOPE_CONSTANT);
    CVAR_REFUSED(.address = &real, .datatype = MPI_DOUBLE, .enumtype = made);
    CVAR_REFUSED(.address = &integer, .enumtype = (MPI_T_enum)(void *)&integer);
    CVAR_REFUSED(.address = &integer, .enumtype = (MPI_T_enum)(void *)((char *)(void *)made + 8));
    REFUSED(.name = "x", .var_class = MPI_T_PVAR_CLASS_STATE, .datatype = MPI_INT,
            .address = &integer, .enumtype = (MPI_T_enum)(void *)&integer);
    CVAR_REFUSED(.name = "enabled", .address = &integer); /* the name of a variable of libqmpi */
    expect(__LINE__, QMPIX_Pvar_sample(-1), MPI_ERR_ARG);
    expect(__LINE__, QMPIX_Pvar_sample(1000000), MPI_ERR_ARG);
}

static void *publish_many(void *data)
{
    char name[64];
    for (int i = 0; i < 200; i++) {
        int index = -1, more = -1;
        snprintf(name, sizeof name, "many.%d.%d", *(const int *)data, i);
        const QMPIX_Pvar counter = {.size = sizeof counter,
                                    .name = name,
                                    .var_class = MPI_T_PVAR_CLASS_COUNTER,
                                    .datatype = MPI_UNSIGNED_LONG_LONG,
                                    .address = &number};
        expect(__LINE__, QMPIX_Pvar_create(me, &counter, &index), MPI_SUCCESS);
        expect(__LINE__, QMPIX_Pvar_create(me, &counter, &more), MPI_ERR_ARG);
        expect(__LINE__, index >= 0 && more == -1, 1);
    }
    return NULL;
}

static void publish_from_threads(void)
{
    pthread_t threads[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, publish_many, &numbers[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void must_not_be_called(int tool_id)
{
    fprintf(stderr, "trace: misfit: layer %d was left out and is called\n", tool_id);
}

static void init(int tool_id)
{
    const char *fail = NULL;
    me = tool_id;
    refuse_pvars();
    refuse_others();
    publish_from_threads();
    QMPIX_Tool_get_option(tool_id, "fail", &fail);
    if (!fail)
        return;
    QMPIX_Register_publisher(tool_id, must_not_be_called);
    QMPIX_Register_stack_changed(tool_id, must_not_be_called);
    QMPIX_Tool_fail(tool_id, "it was asked not to");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("misfit", init);
}
