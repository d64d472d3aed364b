/* SPDX-License-Identifier: MIT */
/* See constants.h. */
#include "constants.h"

#include <mpi.h>

#include <stddef.h>

struct word {
    int number;
    const char *text;
};

static const struct word verbosities[] = {
    {MPI_T_VERBOSITY_USER_BASIC, "user_basic"},
    {MPI_T_VERBOSITY_USER_DETAIL, "user_detail"},
    {MPI_T_VERBOSITY_USER_ALL, "user_all"},
    {MPI_T_VERBOSITY_TUNER_BASIC, "tuner_basic"},
    {MPI_T_VERBOSITY_TUNER_DETAIL, "tuner_detail"},
    {MPI_T_VERBOSITY_TUNER_ALL, "tuner_all"},
    {MPI_T_VERBOSITY_MPIDEV_BASIC, "mpidev_basic"},
    {MPI_T_VERBOSITY_MPIDEV_DETAIL, "mpidev_detail"},
    {MPI_T_VERBOSITY_MPIDEV_ALL, "mpidev_all"},
};

static const struct word classes[] = {
    {MPI_T_PVAR_CLASS_STATE, "state"},
    {MPI_T_PVAR_CLASS_LEVEL, "level"},
    {MPI_T_PVAR_CLASS_SIZE, "size"},
    {MPI_T_PVAR_CLASS_PERCENTAGE, "percentage"},
    {MPI_T_PVAR_CLASS_HIGHWATERMARK, "highwatermark"},
    {MPI_T_PVAR_CLASS_LOWWATERMARK, "lowwatermark"},
    {MPI_T_PVAR_CLASS_COUNTER, "counter"},
    {MPI_T_PVAR_CLASS_AGGREGATE, "aggregate"},
    {MPI_T_PVAR_CLASS_TIMER, "timer"},
    {MPI_T_PVAR_CLASS_GENERIC, "generic"},
};

static const struct word scopes[] = {
    {MPI_T_SCOPE_CONSTANT, "constant"}, {MPI_T_SCOPE_READONLY, "readonly"},
    {MPI_T_SCOPE_LOCAL, "local"},       {MPI_T_SCOPE_GROUP, "group"},
    {MPI_T_SCOPE_GROUP_EQ, "group_eq"}, {MPI_T_SCOPE_ALL, "all"},
    {MPI_T_SCOPE_ALL_EQ, "all_eq"},
};

static const struct word bindings[] = {
    {MPI_T_BIND_NO_OBJECT, "none"},
    {MPI_T_BIND_MPI_COMM, "comm"},
    {MPI_T_BIND_MPI_DATATYPE, "datatype"},
    {MPI_T_BIND_MPI_ERRHANDLER, "errhandler"},
    {MPI_T_BIND_MPI_FILE, "file"},
    {MPI_T_BIND_MPI_GROUP, "group"},
    {MPI_T_BIND_MPI_OP, "op"},
    {MPI_T_BIND_MPI_REQUEST, "request"},
    {MPI_T_BIND_MPI_WIN, "win"},
    {MPI_T_BIND_MPI_MESSAGE, "message"},
    {MPI_T_BIND_MPI_INFO, "info"},
};

#define FIND(words, number) find(words, sizeof(words) / sizeof *(words), number)

static const char *find(const struct word *words, size_t count, int number)
{
    size_t i = 0;
    while (i < count && words[i].number != number)
        i++;
    return i < count ? words[i].text : "?";
}

const char *word_of_verbosity(int verbosity)
{
    return FIND(verbosities, verbosity);
}

const char *word_of_class(int var_class)
{
    return FIND(classes, var_class);
}

const char *word_of_scope(int scope)
{
    return FIND(scopes, scope);
}

const char *word_of_binding(int binding)
{
    return FIND(bindings, binding);
}
