/* SPDX-License-Identifier: MIT */
/* See format.h. A shape is made when its function is first called. */
#define _GNU_SOURCE
#include "format.h"

#include "handles.h"
#include "util/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- What numbers mean ----------------------------------------------------------------------- */

static const struct {
    enum how how;
    const char *names; /* each between blanks */
} meanings[] = {
    {HOW_RANK, " dest source rank root target_rank rank_source rank_dest newrank local_leader "
               "remote_leader ranks ranks1 ranks2 sources destinations neighbors "},
    {HOW_TAG, " tag sendtag recvtag "},
    {HOW_FLAG, " flag reorder commute high periods remain_dims is_supported weighted readonly "
               "continuous atomic is_set "},
    {HOW_UNDEFINED, " color index outcount "},
    {HOW_ERROR, " errorcode errorclass array_of_errcodes err "},
    {HOW_THREAD, " required provided "},
    {HOW_COMPARISON, " result "},
    {HOW_TOPOLOGY, " status "},
    {HOW_FILE_MODE, " amode "},
    {HOW_ASSERT, " assert "},
    {HOW_LOCK, " lock_type "},
    {HOW_WHENCE, " whence "},
    {HOW_COMBINER, " combiner "},
    {HOW_ORDER, " order "},
    {HOW_DISTRIBUTION, " array_of_distribs "},
    {HOW_DISTRIBUTION_ARGUMENT, " array_of_dargs "},
    {HOW_SPLIT, " split_type "},
    {HOW_TYPE_CLASS, " typeclass "},
    {HOW_KEYVAL, " keyval comm_keyval type_keyval win_keyval "},
    {HOW_VERBOSITY, " verbosity "},
    {HOW_BINDING, " bind "},
    {HOW_SCOPE, " scope "},
    {HOW_VARIABLE_CLASS, " var_class "},
    {HOW_SAFETY, " cb_safety "},
    {HOW_SOURCE_ORDER, " ordering "},
};

static enum how meaning_of(const QMPIX_Function *function, const QMPIX_Parameter *parameter)
{
    char word[64];
    if (parameter->kind == QMPIX_KIND_COUNT || !strcmp(parameter->name, "count"))
        return strncmp(function->name, "MPI_Get_", 8) ? HOW_NUMBER : HOW_UNDEFINED;
    if (function->number == MPI_ABORT_T) /* what the program gives becomes its exit status */
        return HOW_NUMBER;
    if (parameter->kind != QMPIX_KIND_INT || strlen(parameter->name) + 3 > sizeof word)
        return HOW_NUMBER;
    stpcpy(stpcpy(stpcpy(word, " "), parameter->name), " ");
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (strstr(meanings[i].names, word))
            return meanings[i].how;
    }
    return HOW_NUMBER;
}

/* ---- What is read and written, and how much -------------------------------------------------- */

struct rule {
    const char *functions, *parameters; /* as in a shell; @(a|b): one of them */
    enum direction direction;
    enum length length;
    const char *of;
};

/* Some MPIs' headers call parameters otherwise than the standard does: both names are there. The
 * first that fits holds. What fits none: single values are written, where they are not const;
 * of arrays the address is shown. */
static const struct rule rules[] = {
    /* Handles and keys that are given back or replaced, and those that only look as if. */
    {"*_free", "*", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"*_free_keyval", "*", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"MPI_@(Keyval_free|Comm_disconnect|File_close|Session_finalize)", "*", DIRECTION_INOUT,
     LENGTH_ONE, NULL},
    {"MPI_@(Wait|Test|Start)", "request", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"MPI_Cancel", "request", DIRECTION_IN, LENGTH_ONE, NULL},
    {"MPI_@(Mrecv|Imrecv)*", "message", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"MPI_Type_commit", "*type", DIRECTION_IN, LENGTH_ONE, NULL},
    {"MPI_*", "position", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"MPI_*", "@(name_len|desc_len|pset_len|buflen)", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"MPIX_Comm_agree", "flag", DIRECTION_INOUT, LENGTH_ONE, NULL},
    {"MPI_*@(Buffer_detach|detach_buffer)*", "buffer*", DIRECTION_OUT, LENGTH_ONE, NULL},
    {"MPI_*", "baseptr", DIRECTION_OUT, LENGTH_ONE, NULL},
    {"MPI_*get*", "attribute_val", DIRECTION_OUT, LENGTH_ONE, NULL},
    {"MPI_Status_set_*", "status", DIRECTION_ADDRESS, LENGTH_ONE, NULL},
    {"MPI_T_event_get_info", "array_of_*", DIRECTION_ADDRESS, LENGTH_ONE, NULL},
    {"MPI_Status_c2f", "f_status", DIRECTION_OUT, LENGTH_STATUS, NULL},
    {"MPI_Status_f2c", "f_status", DIRECTION_IN, LENGTH_STATUS, NULL},
    /* The command line, and spawning. */
    {"MPI_Init*", "argc", DIRECTION_IN, LENGTH_ONE, NULL},
    {"MPI_Init*", "argv", DIRECTION_IN, LENGTH_OF, "argc"},
    {"MPI_Info_create_env", "argv", DIRECTION_IN, LENGTH_OF, "argc"},
    {"MPI_Comm_spawn", "command", DIRECTION_IN, LENGTH_OF_ROOT, NULL},
    {"MPI_Comm_spawn", "argv", DIRECTION_IN, LENGTH_STRINGS_ROOT, NULL},
    {"MPI_Comm_spawn", "array_of_errcodes", DIRECTION_OUT, LENGTH_OF_ROOT, "maxprocs"},
    {"MPI_Comm_spawn_multiple", "array_of_argv", DIRECTION_ADDRESS, LENGTH_ONE, NULL},
    {"MPI_Comm_spawn_multiple", "array_of_errcodes", DIRECTION_OUT, LENGTH_SUM_ROOT,
     "array_of_maxprocs"},
    {"MPI_Comm_spawn_multiple", "array_of_*", DIRECTION_IN, LENGTH_OF_ROOT, "count"},
    {"MPI_Comm_@(accept|connect)", "port_name", DIRECTION_IN, LENGTH_OF_ROOT, NULL},
    /* Requests. */
    {"MPI_*", "array_of_requests", DIRECTION_IN, LENGTH_OF, "count|incount"},
    {"MPI_*all", "array_of_statuses", DIRECTION_OUT, LENGTH_OF, "count"},
    {"MPI_*some", "array_of_@(statuses|indices)", DIRECTION_OUT, LENGTH_OF, "outcount"},
    {"MPI_Pready_list", "array_of_partitions", DIRECTION_IN, LENGTH_OF, "length"},
    /* Collectives. */
    {"MPI_*eighbor_*", "@(recvcounts|recvtypes|rdispls|displs)", DIRECTION_IN, LENGTH_INDEGREE,
     NULL},
    {"MPI_*eighbor_*", "@(sendcounts|sendtypes|sdispls)", DIRECTION_IN, LENGTH_OUTDEGREE, NULL},
    {"MPI_@(Gatherv|Igatherv|Scatterv|Iscatterv)*", "@(recvcounts|sendcounts|displs)", DIRECTION_IN,
     LENGTH_PEERS_ROOT, NULL},
    {"MPI_@(Reduce_scatter|Ireduce_scatter)*", "recvcounts", DIRECTION_IN, LENGTH_LOCAL, NULL},
    {"MPI_*", "@(recvcounts|sendcounts|displs|sdispls|rdispls|sendtypes|recvtypes)", DIRECTION_IN,
     LENGTH_PEERS, NULL},
    /* Topologies. */
    {"MPI_Cart_@(create|map)", "@(dims|periods)", DIRECTION_IN, LENGTH_OF, "ndims"},
    {"MPI_Dims_create", "dims", DIRECTION_INOUT, LENGTH_OF, "ndims"},
    {"MPI_Cart_@(get|coords)", "@(dims|periods|coords)", DIRECTION_OUT, LENGTH_DIMENSIONS,
     "maxdims"},
    {"MPI_Cart_@(rank|sub)", "@(coords|remain_dims)", DIRECTION_IN, LENGTH_DIMENSIONS, NULL},
    {"MPI_Graph_@(create|map)", "index", DIRECTION_IN, LENGTH_OF, "nnodes"},
    {"MPI_Graph_@(create|map)", "edges", DIRECTION_IN, LENGTH_LAST, "index"},
    {"MPI_Graph_get", "index", DIRECTION_OUT, LENGTH_NODES, "maxindex"},
    {"MPI_Graph_get", "edges", DIRECTION_OUT, LENGTH_EDGES, "maxedges"},
    {"MPI_Graph_neighbors", "neighbors", DIRECTION_OUT, LENGTH_NEIGHBORS, "maxneighbors"},
    {"MPI_Dist_graph_create", "@(sources|degrees)", DIRECTION_IN, LENGTH_OF, "n"},
    {"MPI_Dist_graph_create", "@(destinations|weights)", DIRECTION_IN, LENGTH_SUM, "degrees"},
    {"MPI_Dist_graph_create_adjacent", "source*", DIRECTION_IN, LENGTH_OF, "indegree"},
    {"MPI_Dist_graph_create_adjacent", "dest*", DIRECTION_IN, LENGTH_OF, "outdegree"},
    {"MPI_Dist_graph_neighbors", "source*", DIRECTION_OUT, LENGTH_INDEGREE, "maxindegree"},
    {"MPI_Dist_graph_neighbors", "dest*", DIRECTION_OUT, LENGTH_OUTDEGREE, "maxoutdegree"},
    /* Groups and datatypes. */
    {"MPI_Group_*", "@(ranks|ranks1|ranges)", DIRECTION_IN, LENGTH_OF, "n"},
    {"MPI_Group_*", "ranks2", DIRECTION_OUT, LENGTH_OF, "n"},
    {"MPI_Type_create_@(darray|subarray)*", "array_of_*", DIRECTION_IN, LENGTH_OF, "ndims"},
    {"MPI_Type_get_contents*", "array_of_integers", DIRECTION_OUT, LENGTH_INTEGERS, "max_integers"},
    {"MPI_Type_get_contents*", "array_of_addresses", DIRECTION_OUT, LENGTH_ADDRESSES,
     "max_addresses"},
    {"MPI_Type_get_contents*", "array_of_large_counts", DIRECTION_OUT, LENGTH_COUNTS,
     "max_large_counts"},
    {"MPI_Type_get_contents*", "array_of_datatypes", DIRECTION_OUT, LENGTH_DATATYPES,
     "max_datatypes"},
    {"MPI_Type_*", "array_of_*", DIRECTION_IN, LENGTH_OF, "count"},
};

/* The first parameter that has one of the names; -1: none. */
static signed char find(const QMPIX_Function *function, const char *names)
{
    for (; names && *names; names += strcspn(names, "|"), names += *names == '|') {
        const size_t length = strcspn(names, "|");
        for (int i = 0; i < function->parameter_count; i++) {
            const char *name = function->parameters[i].name;
            if (strlen(name) == length && !strncmp(name, names, length))
                return (signed char)i;
        }
    }
    return -1;
}

static const struct rule *rule_of(const QMPIX_Function *function, const QMPIX_Parameter *parameter)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        const bool any = !strcmp(rule->parameters, "*");
        if (any && (parameter->kind == QMPIX_KIND_BUFFER || parameter->is_array))
            continue;
        if ((any || !fnmatch(rule->parameters, parameter->name, FNM_EXTMATCH)) &&
            !fnmatch(rule->functions, function->name, FNM_EXTMATCH))
            return rule;
    }
    return NULL;
}

static enum direction usual_direction(const QMPIX_Parameter *parameter)
{
    if (!parameter->indirection)
        return DIRECTION_IN;
    if (parameter->kind == QMPIX_KIND_BUFFER || parameter->kind == QMPIX_KIND_FUNCTION ||
        (parameter->is_array && parameter->kind != QMPIX_KIND_CHAR))
        return DIRECTION_ADDRESS;
    return parameter->is_const ? DIRECTION_IN : DIRECTION_OUT;
}

/* Of MPI_T's strings the parameter behind says how long they are; of other ones it is the one that
 * says how long they may be. */
static signed char room_of(const QMPIX_Function *function, const char *name)
{
    if (!strcmp(name, "name"))
        return find(function, "name_len");
    if (!strcmp(name, "desc"))
        return find(function, "desc_len");
    if (!strcmp(name, "pset_name"))
        return find(function, "pset_len");
    return !strcmp(name, "value") ? find(function, "buflen") : -1;
}

static signed char find_kind(const QMPIX_Function *function, QMPIX_Kind kind)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == kind && !function->parameters[i].indirection)
            return (signed char)i;
    }
    return -1;
}

static void describe(struct shape *shape, const QMPIX_Function *function)
{
    const int count = function->parameter_count;
    shape->count = count < SHAPE_PARAMETERS ? count : SHAPE_PARAMETERS;
    shape->comm = find_kind(function, QMPIX_KIND_COMM);
    shape->datatype = find(function, "recvtype|datatype");
    if (shape->datatype >= 0 && function->parameters[shape->datatype].indirection)
        shape->datatype = -1;
    shape->request = find(function, "request|array_of_requests");
    if (shape->request >= 0 && !function->parameters[shape->request].indirection)
        shape->request = -1;
    shape->root = find(function, "root");
    shape->flag = find(function, "flag");
    if (shape->flag >= 0 && !function->parameters[shape->flag].indirection)
        shape->flag = -1;
    shape->has_error =
        function->result == QMPIX_KIND_INT && fnmatch("MPIX_Query_*", function->name, 0);
    shape->completes = function->group == QMPIX_GROUP_COMPLETION;
    shape->has_status = function->group != QMPIX_GROUP_IO;
    for (int i = 0; i < shape->count; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        const struct rule *rule = parameter->indirection ? rule_of(function, parameter) : NULL;
        shape->shown[i].direction =
            (unsigned char)(rule ? rule->direction : usual_direction(parameter));
        shape->shown[i].length = (unsigned char)(rule ? rule->length : LENGTH_ONE);
        shape->shown[i].of = find(function, rule ? rule->of : NULL);
        shape->shown[i].address = (unsigned char)handles_address_kind(parameter);
        shape->shown[i].how = (unsigned char)meaning_of(function, parameter);
        shape->shown[i].string_of = parameter->kind == QMPIX_KIND_CHAR && !parameter->is_const
                                        ? room_of(function, parameter->name)
                                        : -1;
        shape->is_sized |=
            shape->shown[i].length >= LENGTH_PEERS && shape->shown[i].length <= LENGTH_DIMENSIONS;
    }
}

static struct piece make_label(const char *before, const char *name, const char *behind)
{
    const size_t length = strlen(before) + strlen(name) + strlen(behind);
    char *text = qmpi_arena_take(length + 1);
    if (text)
        stpcpy(stpcpy(stpcpy(text, before), name), behind);
    return (struct piece){text, length};
}

/* Whether there was memory for all. */
static bool make_labels(struct shape *shape, const QMPIX_Function *function)
{
    bool good = true;
    shape->name = (struct piece){function->name, strlen(function->name)};
    for (int i = 0; i < shape->count; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        shape->shown[i].label =
            parameter->kind == QMPIX_KIND_PCONTROL_WORDS /* the arguments are unknown */
                ? make_label(i ? ", " : "(", "...", "")
                : make_label(i ? ", " : "(", parameter->name, "=");
        good = good && shape->shown[i].label.text;
    }
    return good;
}

const struct shape *shape_of(const QMPIX_Function *function)
{
    static struct shape *shapes[MPI_LAST_FUNC];
    struct shape **place = &shapes[function->number], *none = NULL;
    struct shape *shape = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (shape)
        return shape;
    shape = qmpi_arena_take(sizeof *shape);
    if (!shape)
        return NULL;
    describe(shape, function);
    if (!make_labels(shape, function))
        return NULL;
    const bool first =
        __atomic_compare_exchange_n(place, &none, shape, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return first ? shape : none;
}
