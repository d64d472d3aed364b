/* SPDX-License-Identifier: MIT */
/* See handles.h. Handles are compared as the bytes that they are: what else they are, each MPI
 * decides for itself. The first of each table is the one for no object. */
#include "handles.h"

#include <stdint.h>
#include <string.h>

struct named {
    union {
        MPI_Comm comm;
        MPI_Datatype datatype;
        MPI_Errhandler errhandler;
        MPI_File file;
        MPI_Group group;
        MPI_Info info;
        MPI_Message message;
        MPI_Op op;
        MPI_Request request;
#ifdef MPI_SESSION_NULL
        MPI_Session session;
#endif
        MPI_Win window;
        MPI_T_enum enumeration;
        MPI_T_cvar_handle cvar;
        MPI_T_pvar_handle pvar;
        MPI_T_pvar_session pvar_session;
    } handle;
    const char *name;
};

static const struct named comms[] = {
    {{.comm = MPI_COMM_NULL}, "MPI_COMM_NULL"},
    {{.comm = MPI_COMM_WORLD}, "MPI_COMM_WORLD"},
    {{.comm = MPI_COMM_SELF}, "MPI_COMM_SELF"},
};

#ifdef OPEN_MPI /* no longer in mpi.h, but Fortran programs have them */
extern struct ompi_predefined_datatype_t ompi_mpi_lb __attribute__((weak));
extern struct ompi_predefined_datatype_t ompi_mpi_ub __attribute__((weak));
#undef MPI_LB
#undef MPI_UB
#define MPI_LB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb)
#define MPI_UB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)
#endif

static const struct named datatypes[] = {
    {{.datatype = MPI_DATATYPE_NULL}, "MPI_DATATYPE_NULL"},
    {{.datatype = MPI_CHAR}, "MPI_CHAR"},
    {{.datatype = MPI_SIGNED_CHAR}, "MPI_SIGNED_CHAR"},
    {{.datatype = MPI_UNSIGNED_CHAR}, "MPI_UNSIGNED_CHAR"},
    {{.datatype = MPI_BYTE}, "MPI_BYTE"},
    {{.datatype = MPI_WCHAR}, "MPI_WCHAR"},
    {{.datatype = MPI_SHORT}, "MPI_SHORT"},
    {{.datatype = MPI_UNSIGNED_SHORT}, "MPI_UNSIGNED_SHORT"},
    {{.datatype = MPI_INT}, "MPI_INT"},
    {{.datatype = MPI_UNSIGNED}, "MPI_UNSIGNED"},
    {{.datatype = MPI_LONG}, "MPI_LONG"},
    {{.datatype = MPI_UNSIGNED_LONG}, "MPI_UNSIGNED_LONG"},
    {{.datatype = MPI_FLOAT}, "MPI_FLOAT"},
    {{.datatype = MPI_DOUBLE}, "MPI_DOUBLE"},
    {{.datatype = MPI_LONG_DOUBLE}, "MPI_LONG_DOUBLE"},
    {{.datatype = MPI_LONG_LONG_INT}, "MPI_LONG_LONG_INT"},
    {{.datatype = MPI_UNSIGNED_LONG_LONG}, "MPI_UNSIGNED_LONG_LONG"},
    {{.datatype = MPI_PACKED}, "MPI_PACKED"},
    {{.datatype = MPI_FLOAT_INT}, "MPI_FLOAT_INT"},
    {{.datatype = MPI_DOUBLE_INT}, "MPI_DOUBLE_INT"},
    {{.datatype = MPI_LONG_INT}, "MPI_LONG_INT"},
    {{.datatype = MPI_SHORT_INT}, "MPI_SHORT_INT"},
    {{.datatype = MPI_2INT}, "MPI_2INT"},
    {{.datatype = MPI_LONG_DOUBLE_INT}, "MPI_LONG_DOUBLE_INT"},
    {{.datatype = MPI_INT8_T}, "MPI_INT8_T"},
    {{.datatype = MPI_INT16_T}, "MPI_INT16_T"},
    {{.datatype = MPI_INT32_T}, "MPI_INT32_T"},
    {{.datatype = MPI_INT64_T}, "MPI_INT64_T"},
    {{.datatype = MPI_UINT8_T}, "MPI_UINT8_T"},
    {{.datatype = MPI_UINT16_T}, "MPI_UINT16_T"},
    {{.datatype = MPI_UINT32_T}, "MPI_UINT32_T"},
    {{.datatype = MPI_UINT64_T}, "MPI_UINT64_T"},
    {{.datatype = MPI_C_BOOL}, "MPI_C_BOOL"},
    {{.datatype = MPI_C_FLOAT_COMPLEX}, "MPI_C_FLOAT_COMPLEX"},
    {{.datatype = MPI_C_DOUBLE_COMPLEX}, "MPI_C_DOUBLE_COMPLEX"},
    {{.datatype = MPI_C_LONG_DOUBLE_COMPLEX}, "MPI_C_LONG_DOUBLE_COMPLEX"},
    {{.datatype = MPI_AINT}, "MPI_AINT"},
    {{.datatype = MPI_OFFSET}, "MPI_OFFSET"},
    {{.datatype = MPI_COUNT}, "MPI_COUNT"},
    {{.datatype = MPI_CXX_BOOL}, "MPI_CXX_BOOL"},
    {{.datatype = MPI_CXX_FLOAT_COMPLEX}, "MPI_CXX_FLOAT_COMPLEX"},
    {{.datatype = MPI_CXX_DOUBLE_COMPLEX}, "MPI_CXX_DOUBLE_COMPLEX"},
    {{.datatype = MPI_CXX_LONG_DOUBLE_COMPLEX}, "MPI_CXX_LONG_DOUBLE_COMPLEX"},
    {{.datatype = MPI_COMPLEX}, "MPI_COMPLEX"},
    {{.datatype = MPI_DOUBLE_COMPLEX}, "MPI_DOUBLE_COMPLEX"},
    {{.datatype = MPI_LOGICAL}, "MPI_LOGICAL"},
    {{.datatype = MPI_REAL}, "MPI_REAL"},
    {{.datatype = MPI_DOUBLE_PRECISION}, "MPI_DOUBLE_PRECISION"},
    {{.datatype = MPI_INTEGER}, "MPI_INTEGER"},
    {{.datatype = MPI_2INTEGER}, "MPI_2INTEGER"},
    {{.datatype = MPI_2REAL}, "MPI_2REAL"},
    {{.datatype = MPI_2DOUBLE_PRECISION}, "MPI_2DOUBLE_PRECISION"},
    {{.datatype = MPI_CHARACTER}, "MPI_CHARACTER"},
    {{.datatype = MPI_REAL4}, "MPI_REAL4"},
    {{.datatype = MPI_REAL8}, "MPI_REAL8"},
    {{.datatype = MPI_REAL16}, "MPI_REAL16"},
    {{.datatype = MPI_COMPLEX8}, "MPI_COMPLEX8"},
    {{.datatype = MPI_COMPLEX16}, "MPI_COMPLEX16"},
    {{.datatype = MPI_COMPLEX32}, "MPI_COMPLEX32"},
    {{.datatype = MPI_INTEGER1}, "MPI_INTEGER1"},
    {{.datatype = MPI_INTEGER2}, "MPI_INTEGER2"},
    {{.datatype = MPI_INTEGER4}, "MPI_INTEGER4"},
    {{.datatype = MPI_INTEGER8}, "MPI_INTEGER8"},
#ifdef MPI_LOGICAL1
    {{.datatype = MPI_LOGICAL1}, "MPI_LOGICAL1"},
    {{.datatype = MPI_LOGICAL2}, "MPI_LOGICAL2"},
    {{.datatype = MPI_LOGICAL4}, "MPI_LOGICAL4"},
    {{.datatype = MPI_LOGICAL8}, "MPI_LOGICAL8"},
#endif
#ifdef MPI_LOGICAL16
    {{.datatype = MPI_LOGICAL16}, "MPI_LOGICAL16"},
    {{.datatype = MPI_INTEGER16}, "MPI_INTEGER16"},
#endif
#ifdef MPI_2COMPLEX
    {{.datatype = MPI_2COMPLEX}, "MPI_2COMPLEX"},
    {{.datatype = MPI_2DOUBLE_COMPLEX}, "MPI_2DOUBLE_COMPLEX"},
#endif
#ifdef MPI_LB
    {{.datatype = MPI_LB}, "MPI_LB"},
    {{.datatype = MPI_UB}, "MPI_UB"},
#endif
};

static const struct named errhandlers[] = {
    {{.errhandler = MPI_ERRHANDLER_NULL}, "MPI_ERRHANDLER_NULL"},
    {{.errhandler = MPI_ERRORS_ARE_FATAL}, "MPI_ERRORS_ARE_FATAL"},
    {{.errhandler = MPI_ERRORS_RETURN}, "MPI_ERRORS_RETURN"},
#ifdef MPI_ERRORS_ABORT
    {{.errhandler = MPI_ERRORS_ABORT}, "MPI_ERRORS_ABORT"},
#endif
};

static const struct named files[] = {
    {{.file = MPI_FILE_NULL}, "MPI_FILE_NULL"},
};

static const struct named groups[] = {
    {{.group = MPI_GROUP_NULL}, "MPI_GROUP_NULL"},
    {{.group = MPI_GROUP_EMPTY}, "MPI_GROUP_EMPTY"},
};

static const struct named infos[] = {
    {{.info = MPI_INFO_NULL}, "MPI_INFO_NULL"},
    {{.info = MPI_INFO_ENV}, "MPI_INFO_ENV"},
};

static const struct named messages[] = {
    {{.message = MPI_MESSAGE_NULL}, "MPI_MESSAGE_NULL"},
    {{.message = MPI_MESSAGE_NO_PROC}, "MPI_MESSAGE_NO_PROC"},
};

static const struct named ops[] = {
    {{.op = MPI_OP_NULL}, "MPI_OP_NULL"}, {{.op = MPI_MAX}, "MPI_MAX"},
    {{.op = MPI_MIN}, "MPI_MIN"},         {{.op = MPI_SUM}, "MPI_SUM"},
    {{.op = MPI_PROD}, "MPI_PROD"},       {{.op = MPI_LAND}, "MPI_LAND"},
    {{.op = MPI_BAND}, "MPI_BAND"},       {{.op = MPI_LOR}, "MPI_LOR"},
    {{.op = MPI_BOR}, "MPI_BOR"},         {{.op = MPI_LXOR}, "MPI_LXOR"},
    {{.op = MPI_BXOR}, "MPI_BXOR"},       {{.op = MPI_MINLOC}, "MPI_MINLOC"},
    {{.op = MPI_MAXLOC}, "MPI_MAXLOC"},   {{.op = MPI_REPLACE}, "MPI_REPLACE"},
    {{.op = MPI_NO_OP}, "MPI_NO_OP"},
};

static const struct named requests[] = {
    {{.request = MPI_REQUEST_NULL}, "MPI_REQUEST_NULL"},
};

#ifdef MPI_SESSION_NULL
static const struct named sessions[] = {
    {{.session = MPI_SESSION_NULL}, "MPI_SESSION_NULL"},
};
#endif

static const struct named windows[] = {
    {{.window = MPI_WIN_NULL}, "MPI_WIN_NULL"},
};

static const struct named enums[] = {
    {{.enumeration = MPI_T_ENUM_NULL}, "MPI_T_ENUM_NULL"},
};

static const struct named cvars[] = {
    {{.cvar = MPI_T_CVAR_HANDLE_NULL}, "MPI_T_CVAR_HANDLE_NULL"},
};

static const struct named pvars[] = {
    {{.pvar = MPI_T_PVAR_HANDLE_NULL}, "MPI_T_PVAR_HANDLE_NULL"},
};

static const struct named pvar_sessions[] = {
    {{.pvar_session = MPI_T_PVAR_SESSION_NULL}, "MPI_T_PVAR_SESSION_NULL"},
};

#define TABLE(kind, table) [QMPIX_KIND_##kind] = {table, sizeof table / sizeof *table}

static const struct {
    const struct named *named;
    size_t count;
} tables[QMPIX_KIND_PCONTROL_WORDS + 1] = {
    TABLE(COMM, comms),
    TABLE(DATATYPE, datatypes),
    TABLE(ERRHANDLER, errhandlers),
    TABLE(FILE, files),
    TABLE(GROUP, groups),
    TABLE(INFO, infos),
    TABLE(MESSAGE, messages),
    TABLE(OP, ops),
    TABLE(REQUEST, requests),
#ifdef MPI_SESSION_NULL
    TABLE(SESSION, sessions),
#endif
    TABLE(WIN, windows),
    TABLE(T_ENUM, enums),
    TABLE(T_CVAR_HANDLE, cvars),
    TABLE(T_PVAR_HANDLE, pvars),
    TABLE(T_PVAR_SESSION, pvar_sessions),
};

/* Of the size that handles have, the comparison is one instruction. */
static inline __attribute__((always_inline)) const char *
find(const struct named *named, size_t count, const void *from, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (!memcmp(&named[i].handle, from, size))
            return named[i].name;
    }
    return NULL;
}

const char *handles_name(QMPIX_Kind kind, const void *from, size_t size)
{
    const struct named *named = tables[kind].named;
    const size_t count = tables[kind].count;
    if (size == sizeof(int))
        return find(named, count, from, sizeof(int));
    if (size == sizeof(void *))
        return find(named, count, from, sizeof(void *));
    return find(named, count, from, size);
}

bool handles_is_null(QMPIX_Kind kind, const void *from, size_t size)
{
    return tables[kind].count && !memcmp(&tables[kind].named[0].handle, from, size);
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* Where they are variables of the MPI library's, one that was loaded for itself alone (dlopen) does
 * not show them. */
#if !defined(MPI_UNWEIGHTED)
#pragma weak MPI_UNWEIGHTED
#pragma weak MPI_WEIGHTS_EMPTY
#define HAS_WEIGHTS (&MPI_UNWEIGHTED && &MPI_WEIGHTS_EMPTY)
#else
#define HAS_WEIGHTS true
#endif

static const char *weights_name(const void *address)
{
    if (HAS_WEIGHTS && address == MPI_UNWEIGHTED)
        return "MPI_UNWEIGHTED";
    return HAS_WEIGHTS && address == MPI_WEIGHTS_EMPTY ? "MPI_WEIGHTS_EMPTY" : NULL;
}

static bool is_weights(const char *name)
{
    return !strcmp(name, "weights") || !strcmp(name, "sourceweights") ||
           !strcmp(name, "destweights");
}

/* Where data is sent from or comes to. NULL is MPI_BOTTOM there. */
static bool is_message(const char *name)
{
    static const char *const names[] = {"buf",         "buffer",      "sendbuf", "recvbuf",
                                        "origin_addr", "result_addr", "inbuf",   "outbuf",
                                        "inoutbuf",    "compare_addr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], name))
            return true;
    }
    return false;
}

/* Predefined callbacks: those of attributes have names for each kind of object. */
static const char *function_name(const QMPIX_Parameter *parameter, const void *address)
{
    static const struct {
        const char *type; /* how the type begins */
        const char *names[3];
    } kinds[] = {
        {"MPI_Comm_", {"MPI_COMM_NULL_COPY_FN", "MPI_COMM_DUP_FN", "MPI_COMM_NULL_DELETE_FN"}},
        {"MPI_Type_", {"MPI_TYPE_NULL_COPY_FN", "MPI_TYPE_DUP_FN", "MPI_TYPE_NULL_DELETE_FN"}},
        {"MPI_Win_", {"MPI_WIN_NULL_COPY_FN", "MPI_WIN_DUP_FN", "MPI_WIN_NULL_DELETE_FN"}},
        {"", {"MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"}},
    };
    const uintptr_t number = (uintptr_t)address;
    size_t kind = 0;
    while (strncmp(kinds[kind].type, parameter->type, strlen(kinds[kind].type)) != 0)
        kind++;
    if (strstr(parameter->name, "copy") && number <= 1)
        return kinds[kind].names[number];
    if (strstr(parameter->name, "delete") && !number)
        return kinds[kind].names[2];
    return strstr(parameter->name, "conversion") && !number ? "MPI_CONVERSION_FN_NULL" : NULL;
}

enum address handles_address_kind(const QMPIX_Parameter *parameter)
{
    const char *name = parameter->name;
    if (parameter->kind == QMPIX_KIND_BUFFER && is_message(name))
        return !strcmp(name, "sendbuf") || !strcmp(name, "recvbuf") ? ADDRESS_COLLECTIVE
                                                                    : ADDRESS_BUFFER;
    if (parameter->kind == QMPIX_KIND_BUFFER)
        return ADDRESS_PLAIN;
    if (parameter->kind == QMPIX_KIND_FUNCTION)
        return ADDRESS_FUNCTION;
    if (parameter->kind == QMPIX_KIND_STATUS)
        return strcmp(name, "array_of_statuses") != 0 ? ADDRESS_STATUS : ADDRESS_STATUSES;
    if (is_weights(name))
        return ADDRESS_WEIGHTS;
    if (!strcmp(name, "array_of_errcodes"))
        return ADDRESS_ERRCODES;
    return strcmp(name, "array_of_argv") != 0 ? ADDRESS_PLAIN : ADDRESS_ARGV;
}

const char *handles_address(enum address kind, const QMPIX_Parameter *parameter,
                            const void *address)
{
    switch (kind) {
    case ADDRESS_COLLECTIVE:
        if (address == MPI_IN_PLACE)
            return "MPI_IN_PLACE";
        return address == MPI_BOTTOM ? "MPI_BOTTOM" : NULL;
    case ADDRESS_BUFFER:
        return address == MPI_BOTTOM ? "MPI_BOTTOM" : NULL;
    case ADDRESS_FUNCTION:
        return function_name(parameter, address);
    case ADDRESS_STATUS:
        return address == MPI_STATUS_IGNORE ? "MPI_STATUS_IGNORE" : NULL;
    case ADDRESS_STATUSES:
        return address == MPI_STATUSES_IGNORE ? "MPI_STATUSES_IGNORE" : NULL;
    case ADDRESS_WEIGHTS:
        return weights_name(address);
    case ADDRESS_ERRCODES:
        return address == MPI_ERRCODES_IGNORE ? "MPI_ERRCODES_IGNORE" : NULL;
    case ADDRESS_ARGV:
        return address == MPI_ARGVS_NULL ? "MPI_ARGVS_NULL" : NULL;
    default:
        return NULL;
    }
}
