/* SPDX-License-Identifier: MIT */
/*
 * See attributes.h. A call goes from the binding to mpii_X, which records the request of Fortran
 * and calls the entry point; at the end of the chain, pmpi_X carries it out. To get a value, pmpi_X
 * always calls the C function. If the call belongs to the recorded request, pmpi_X also gets the
 * value for Fortran, which mpii_X returns to the program. To set a value, pmpi_X calls the Fortran
 * function if the call belongs to the recorded request, and the C function otherwise.
 */
#include "redirect/attributes.h"

#include "dispatch/dispatch.h"
#include "process/process.h"

#include <stdint.h>
#include <string.h>

/* The types of attribute values, numbered as in the MPI library. */
enum type { ADDRESS_KIND = 1, INTEGER = 3 };

/* MPI_Attr_get and MPI_Attr_put count as MPI_Comm_get_attr and MPI_Comm_set_attr, because a layer
 * may replace one by the other. */
enum call { NONE, GET_COMM, GET_TYPE, GET_WIN, SET_COMM, SET_TYPE, SET_WIN, CALLS };

/* A request from Fortran that this thread carries out, from the beginning to the end of mpii_X. */
struct request {
    enum call call; /* NONE: there is no request */
    int keyval;     /* as layers see it */
    enum type type; /* of Fortran's value */
    void *value;    /* to set: the value; to get: the place where the entry point stores the value
                       for C */
    /* to get: whether the MPI library has answered a call for this request, and whether that call
     * stores the result at `value`. A layer may make other calls instead, or in addition. */
    bool answered, answered_here;
    void *c_value, *fortran_value; /* the answer */
    const void *frame; /* the frame of mpii_X, which is on the stack while the request is valid */
};
/* The current request. A signal handler or a nested call that makes a request of its own restores
 * this one when it ends; after a longjmp, is_current detects that the frame has been left. */
static _Thread_local struct request request;

/* Puts mpii_X in a section of its own, by which qmpi_attributes_hold recognizes calls from
 * mpii_X. */
#define IN_SECTION __attribute__((section("qmpi_attributes"), noinline))
extern const char section_begin[] __asm__("__start_qmpi_attributes") QMPI_HIDDEN;
extern const char section_end[] __asm__("__stop_qmpi_attributes") QMPI_HIDDEN;

bool qmpi_attributes_hold(const void *address)
{
    return (uintptr_t)address - (uintptr_t)section_begin <=
           (uintptr_t)section_end - (uintptr_t)section_begin;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Predefined attributes. C programs get the address of the value, except for the kind ADDRESS. */
static const struct predefined {
    int keyval;
    enum { INT, AINT, ADDRESS } kind; /* ADDRESS: C programs get the value itself */
} predefined[] = {
    {MPI_TAG_UB, INT},
    {MPI_HOST, INT},
    {MPI_IO, INT},
    {MPI_WTIME_IS_GLOBAL, INT},
    {MPI_UNIVERSE_SIZE, INT},
    {MPI_LASTUSEDCODE, INT},
    {MPI_APPNUM, INT},
    {MPI_WIN_BASE, ADDRESS},
    {MPI_WIN_SIZE, AINT},
    {MPI_WIN_DISP_UNIT, INT},
    {MPI_WIN_CREATE_FLAVOR, INT},
    {MPI_WIN_MODEL, INT},
};

static const struct predefined *find_predefined(int keyval)
{
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++) {
        if (predefined[i].keyval == keyval)
            return &predefined[i];
    }
    return NULL;
}

/* Returns the keyval in C for a keyval in Fortran: for predefined attributes, MPICH's keyvals in
 * Fortran are greater by 1. */
static int c_keyval(int keyval)
{
    return !find_predefined(keyval) && find_predefined(keyval - 1) ? keyval - 1 : keyval;
}

/* Returns the value in Fortran for a value in C: MPI 4.0, section 19.3.7. */
static void *to_fortran(const struct request *done, void *value)
{
    const struct predefined *predefined_key = find_predefined(done->keyval);
    if (predefined_key && predefined_key->kind == INT)
        return (void *)(intptr_t)(*(const int *)value);
    if (predefined_key && predefined_key->kind == AINT)
        return (void *)(intptr_t)(*(const MPI_Aint *)value);
    /* For all other attributes, only the MPI library knows whether C or Fortran set the value. A
     * value that does not come from the library comes from a layer, which sets values as in C. */
    return done->answered && done->c_value == value ? done->fortran_value : value;
}

/* ---- The end of the chain -------------------------------------------------------------------- */

static qmpi_function *library_mpii[CALLS]; /* MPII_X of the MPI library, with the type as an
                                              argument */

/* Returns whether a call belongs to the recorded request. Handles are not compared, because a layer
 * may replace a communicator by one of its own. */
static bool is_current(const struct request *recorded, enum call call, int keyval)
{
    return recorded->call == call && recorded->keyval == keyval &&
           (const char *)recorded->frame > (const char *)QMPI_THIS_FRAME();
}

static bool wants_answer(const struct request *recorded, enum call call, int keyval,
                         const void *value)
{
    return is_current(recorded, call, keyval) &&
           (!recorded->answered_here || recorded->value == value);
}

static void store_answer(struct request *recorded, const void *value, void *fortran_value)
{
    recorded->answered = true;
    recorded->answered_here = recorded->value == value;
    memcpy(&recorded->c_value, value, sizeof recorded->c_value);
    recorded->fortran_value = fortran_value;
}

/*
 * The request is set aside during the call. When a value is set, the MPI library may call a delete
 * function of the program for the old value. Calls that this function makes do not belong to the
 * request.
 */
#define PMPI_GET(X, CALL, HANDLE)                                                                  \
    static qmpi_function *library_##X;                                                             \
    static int pmpi_##X(HANDLE handle, int keyval, void *value, int *flag)                         \
    {                                                                                              \
        struct request mine = request;                                                             \
        void *fortran_value = NULL;                                                                \
        int fortran_flag = 0;                                                                      \
        request.call = NONE;                                                                       \
        const int result =                                                                         \
            ((int (*)(HANDLE, int, void *, int *))library_##X)(handle, keyval, value, flag);       \
        if (wants_answer(&mine, CALL, keyval, value) && result == MPI_SUCCESS && *flag &&          \
            ((int (*)(HANDLE, int, void *, int *, int))library_mpii[CALL])(                        \
                handle, keyval, &fortran_value, &fortran_flag, mine.type) == MPI_SUCCESS &&        \
            fortran_flag)                                                                          \
            store_answer(&mine, value, fortran_value);                                             \
        request = mine;                                                                            \
        return result;                                                                             \
    }
#define PMPI_SET(X, CALL, HANDLE)                                                                  \
    static qmpi_function *library_##X;                                                             \
    static int pmpi_##X(HANDLE handle, int keyval, void *value)                                    \
    {                                                                                              \
        const struct request mine = request;                                                       \
        request.call = NONE;                                                                       \
        const int result =                                                                         \
            is_current(&mine, CALL, keyval) && mine.value == value                                 \
                ? ((int (*)(HANDLE, int, void *, int))library_mpii[CALL])(handle, keyval, value,   \
                                                                          mine.type)               \
                : ((int (*)(HANDLE, int, void *))library_##X)(handle, keyval, value);              \
        request = mine;                                                                            \
        return result;                                                                             \
    }
PMPI_GET(Comm_get_attr, GET_COMM, MPI_Comm)
PMPI_GET(Type_get_attr, GET_TYPE, MPI_Datatype)
PMPI_GET(Win_get_attr, GET_WIN, MPI_Win)
PMPI_GET(Attr_get, GET_COMM, MPI_Comm)
PMPI_SET(Comm_set_attr, SET_COMM, MPI_Comm)
PMPI_SET(Type_set_attr, SET_TYPE, MPI_Datatype)
PMPI_SET(Win_set_attr, SET_WIN, MPI_Win)
PMPI_SET(Attr_put, SET_COMM, MPI_Comm)

static const struct {
    int number;
    qmpi_function **library;
    qmpi_function *function;
} pmpi_functions[] = {
#define PMPI_FUNCTION(X, NUMBER)                                                                   \
    {                                                                                              \
        NUMBER, &library_##X, (qmpi_function *)pmpi_##X                                            \
    }
    PMPI_FUNCTION(Comm_get_attr, MPI_COMM_GET_ATTR_T),
    PMPI_FUNCTION(Comm_set_attr, MPI_COMM_SET_ATTR_T),
    PMPI_FUNCTION(Type_get_attr, MPI_TYPE_GET_ATTR_T),
    PMPI_FUNCTION(Type_set_attr, MPI_TYPE_SET_ATTR_T),
    PMPI_FUNCTION(Win_get_attr, MPI_WIN_GET_ATTR_T),
    PMPI_FUNCTION(Win_set_attr, MPI_WIN_SET_ATTR_T),
    PMPI_FUNCTION(Attr_get, MPI_ATTR_GET_T),
    PMPI_FUNCTION(Attr_put, MPI_ATTR_PUT_T),
};

/* ---- Functions that the binding calls -------------------------------------------------------- */

/* Starts a request and returns the outer one. There is an outer one if, for example, a layer that
 * is written in Fortran makes this call during another request. */
static struct request begin_request(enum call call, int keyval, int type, void *value,
                                    const void *frame)
{
    const struct request outer = request;
    request = (struct request){.call = call,
                               .keyval = c_keyval(keyval),
                               .type = (enum type)type,
                               .value = value,
                               .frame = frame};
    return outer;
}

static struct request end_request(const struct request *outer)
{
    const struct request done = request;
    request = *outer;
    return done;
}

/* NUMBER is the function for values of the kind MPI_ADDRESS_KIND, and INTEGERS the older one for
 * default integers. */
#define MPII_GET(CALL, NUMBER, INTEGERS, HANDLE)                                                   \
    IN_SECTION static int mpii_##CALL(HANDLE handle, int keyval, void *value, int *flag, int type) \
    {                                                                                              \
        qmpi_function *const entry = qmpi_entries[type == INTEGER ? (INTEGERS) : (NUMBER)];        \
        void *c_value = NULL;                                                                      \
        int found = 0;                                                                             \
        const struct request outer =                                                               \
            begin_request(CALL, keyval, type, &c_value, QMPI_THIS_FRAME());                        \
        const int result = ((int (*)(HANDLE, int, void *, int *))entry)(handle, c_keyval(keyval),  \
                                                                        &c_value, &found);         \
        const struct request done = end_request(&outer);                                           \
        if (result != MPI_SUCCESS)                                                                 \
            return result;                                                                         \
        *flag = found;                                                                             \
        if (found) {                                                                               \
            c_value = to_fortran(&done, c_value);                                                  \
            memcpy(value, &c_value, sizeof c_value);                                               \
        }                                                                                          \
        return result;                                                                             \
    }
#define MPII_SET(CALL, NUMBER, INTEGERS, HANDLE)                                                   \
    IN_SECTION static int mpii_##CALL(HANDLE handle, int keyval, void *value, int type)            \
    {                                                                                              \
        qmpi_function *const entry = qmpi_entries[type == INTEGER ? (INTEGERS) : (NUMBER)];        \
        const struct request outer = begin_request(CALL, keyval, type, value, QMPI_THIS_FRAME());  \
        const int result = ((int (*)(HANDLE, int, void *))entry)(handle, c_keyval(keyval), value); \
        end_request(&outer);                                                                       \
        return result;                                                                             \
    }
MPII_GET(GET_COMM, MPI_COMM_GET_ATTR_T, MPI_ATTR_GET_T, MPI_Comm)
MPII_GET(GET_TYPE, MPI_TYPE_GET_ATTR_T, MPI_TYPE_GET_ATTR_T, MPI_Datatype)
MPII_GET(GET_WIN, MPI_WIN_GET_ATTR_T, MPI_WIN_GET_ATTR_T, MPI_Win)
MPII_SET(SET_COMM, MPI_COMM_SET_ATTR_T, MPI_ATTR_PUT_T, MPI_Comm)
MPII_SET(SET_TYPE, MPI_TYPE_SET_ATTR_T, MPI_TYPE_SET_ATTR_T, MPI_Datatype)
MPII_SET(SET_WIN, MPI_WIN_SET_ATTR_T, MPI_WIN_SET_ATTR_T, MPI_Win)

/* ---- Installation ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    qmpi_function *function;
} mpii_functions[CALLS] = {
    [GET_COMM] = {"MPII_Comm_get_attr", (qmpi_function *)mpii_GET_COMM},
    [GET_TYPE] = {"MPII_Type_get_attr", (qmpi_function *)mpii_GET_TYPE},
    [GET_WIN] = {"MPII_Win_get_attr", (qmpi_function *)mpii_GET_WIN},
    [SET_COMM] = {"MPII_Comm_set_attr", (qmpi_function *)mpii_SET_COMM},
    [SET_TYPE] = {"MPII_Type_set_attr", (qmpi_function *)mpii_SET_TYPE},
    [SET_WIN] = {"MPII_Win_set_attr", (qmpi_function *)mpii_SET_WIN},
};
static bool prepared;

/* Returns whether layers may have got the terminators already. */
static bool are_chains_built(void)
{
    return __atomic_load_n(&QMPIX_stack.below, __ATOMIC_ACQUIRE) != NULL;
}

void *qmpi_attributes_target(const char *name)
{
    if (strncmp(name, "MPII_", 5) != 0 || (are_chains_built() && !prepared))
        return NULL;
    for (int call = NONE + 1; call < CALLS; call++) {
        if (!strcmp(mpii_functions[call].name, name))
            return (void *)(uintptr_t)mpii_functions[call].function;
    }
    return NULL;
}

void qmpi_attributes_prepare(void)
{
    if (prepared || are_chains_built())
        return;
    for (int call = NONE + 1; call < CALLS; call++) {
        library_mpii[call] =
            (qmpi_function *)(uintptr_t)qmpi_mpi_library_symbol(mpii_functions[call].name);
        if (!library_mpii[call])
            return;
    }
    for (size_t i = 0; i < sizeof pmpi_functions / sizeof *pmpi_functions; i++) {
        *pmpi_functions[i].library = qmpi_pmpi_functions[pmpi_functions[i].number];
        qmpi_pmpi_functions[pmpi_functions[i].number] = pmpi_functions[i].function;
    }
    prepared = true;
}
