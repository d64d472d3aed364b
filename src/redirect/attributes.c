/* SPDX-License-Identifier: MIT */
/*
 * See attributes.h. A call goes from the binding to stand_in_X, which notes what Fortran wants and
 * calls the entry; at the end of the chain keep_X carries it out. Getting is carried out as C's
 * call, whatever layers do on the way; keep_X then asks for Fortran's value as well, and stand_in_X
 * gives that to the program. Setting is carried out as Fortran's, if it is the noted one.
 */
#include "redirect/attributes.h"

#include "dispatch/dispatch.h"
#include "process/process.h"

#include <stdint.h>
#include <string.h>

/* As the MPI library's: how a value is given and stored. */
enum type { ADDRESS_KIND = 1, INTEGER = 3 };

/* MPI_Attr_get and MPI_Attr_put are calls of the same kind as MPI_Comm_get_attr and _set_attr: a
 * layer may pass the one on as the other. */
enum call { NONE, GET_COMM, GET_TYPE, GET_WIN, SET_COMM, SET_TYPE, SET_WIN, CALLS };

/* What Fortran asked for in this thread, while its call is on the way to the MPI library. */
struct request {
    enum call call; /* NONE: there is no request */
    int keyval;     /* as layers see it */
    enum type type; /* of Fortran's value */
    void *value;    /* set: the value; get: where the entry was told to store C's */
    /* get: what the MPI library answered, to a call that stores at `value` (`here`), or to one that
     * a layer made in its place or beside it */
    bool answered, answered_here;
    void *c_value, *fortran_value;
    const void *frame; /* of the stand-in; it is on the stack as long as the request holds */
};
/* A signal handler or a nested call that asks, too, puts it back. Who leaves by longjmp does not:
 * is_noted sees by the frame that nobody waits for the answer any more. */
static _Thread_local struct request request;

/* In a section of its own: qmpi_attributes_hold knows the calls that come from here. */
#define REPLACEMENT __attribute__((section("qmpi_attributes"), noinline))
extern const char replacements_begin[] __asm__("__start_qmpi_attributes") QMPI_HIDDEN;
extern const char replacements_end[] __asm__("__stop_qmpi_attributes") QMPI_HIDDEN;

bool qmpi_attributes_hold(const void *address)
{
    return (uintptr_t)address - (uintptr_t)replacements_begin <=
           (uintptr_t)replacements_end - (uintptr_t)replacements_begin;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The attributes that MPI itself defines: C gets the address of such a value. */
static const struct predefined {
    int keyval;
    enum { INT, AINT, ADDRESS } kind; /* ADDRESS: C gets the value itself */
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

/* MPICH gives Fortran the number after C's for an attribute of its own; tools know C's. */
static int c_keyval(int keyval)
{
    return !find_predefined(keyval) && find_predefined(keyval - 1) ? keyval - 1 : keyval;
}

/* MPI 4.0, section 19.3.7: what Fortran gets for what C got. */
static void *to_fortran(const struct request *done, void *value)
{
    const struct predefined *predefined_key = find_predefined(done->keyval);
    if (predefined_key && predefined_key->kind == INT)
        return (void *)(intptr_t)(*(const int *)value);
    if (predefined_key && predefined_key->kind == AINT)
        return (void *)(intptr_t)(*(const MPI_Aint *)value);
    /* Else only the MPI library knows whether C set this attribute or Fortran. A value that is not
     * its answer is one that a layer put there, as C sets them. */
    return done->answered && done->c_value == value ? done->fortran_value : value;
}

/* ---- The end of the chain -------------------------------------------------------------------- */

static qmpi_function *typed[CALLS]; /* MPII_…: those of the MPI library that are told the type */

/* The handle is not compared: a layer may replace a communicator by one of its own. */
static bool is_noted(const struct request *noted, enum call call, int keyval)
{
    return noted->call == call && noted->keyval == keyval &&
           (const char *)noted->frame > (const char *)QMPI_THIS_FRAME();
}

static bool wants_answer(const struct request *noted, enum call call, int keyval, const void *value)
{
    return is_noted(noted, call, keyval) && (!noted->answered_here || noted->value == value);
}

static void note_answer(struct request *noted, const void *value, void *fortran_value)
{
    noted->answered = true;
    noted->answered_here = noted->value == value;
    memcpy(&noted->c_value, value, sizeof noted->c_value);
    noted->fortran_value = fortran_value;
}

/*
 * The request is put aside meanwhile: the MPI library calls the program's copy and delete
 * functions, and what those call is theirs.
 */
#define ORIGINAL_GET(X, CALL, HANDLE)                                                              \
    static qmpi_function *library_##X;                                                             \
    static int original_##X(HANDLE handle, int keyval, void *value, int *flag)                     \
    {                                                                                              \
        struct request mine = request;                                                             \
        void *fortran_value = NULL;                                                                \
        int fortran_flag = 0;                                                                      \
        request.call = NONE;                                                                       \
        const int result =                                                                         \
            ((int (*)(HANDLE, int, void *, int *))library_##X)(handle, keyval, value, flag);       \
        if (wants_answer(&mine, CALL, keyval, value) && result == MPI_SUCCESS && *flag &&          \
            ((int (*)(HANDLE, int, void *, int *, int))typed[CALL])(                               \
                handle, keyval, &fortran_value, &fortran_flag, mine.type) == MPI_SUCCESS &&        \
            fortran_flag)                                                                          \
            note_answer(&mine, value, fortran_value);                                              \
        request = mine;                                                                            \
        return result;                                                                             \
    }
#define ORIGINAL_SET(X, CALL, HANDLE)                                                              \
    static qmpi_function *library_##X;                                                             \
    static int original_##X(HANDLE handle, int keyval, void *value)                                \
    {                                                                                              \
        const struct request mine = request;                                                       \
        request.call = NONE;                                                                       \
        const int result =                                                                         \
            is_noted(&mine, CALL, keyval) && mine.value == value                                   \
                ? ((int (*)(HANDLE, int, void *, int))typed[CALL])(handle, keyval, value,          \
                                                                   mine.type)                      \
                : ((int (*)(HANDLE, int, void *))library_##X)(handle, keyval, value);              \
        request = mine;                                                                            \
        return result;                                                                             \
    }
ORIGINAL_GET(Comm_get_attr, GET_COMM, MPI_Comm)
ORIGINAL_GET(Type_get_attr, GET_TYPE, MPI_Datatype)
ORIGINAL_GET(Win_get_attr, GET_WIN, MPI_Win)
ORIGINAL_GET(Attr_get, GET_COMM, MPI_Comm)
ORIGINAL_SET(Comm_set_attr, SET_COMM, MPI_Comm)
ORIGINAL_SET(Type_set_attr, SET_TYPE, MPI_Datatype)
ORIGINAL_SET(Win_set_attr, SET_WIN, MPI_Win)
ORIGINAL_SET(Attr_put, SET_COMM, MPI_Comm)

static const struct keeper {
    int number;
    qmpi_function **library;
    qmpi_function *original;
} keepers[] = {
#define KEEPER(X, NUMBER)                                                                          \
    {                                                                                              \
        NUMBER, &library_##X, (qmpi_function *)original_##X                                        \
    }
    KEEPER(Comm_get_attr, MPI_COMM_GET_ATTR_T), KEEPER(Comm_set_attr, MPI_COMM_SET_ATTR_T),
    KEEPER(Type_get_attr, MPI_TYPE_GET_ATTR_T), KEEPER(Type_set_attr, MPI_TYPE_SET_ATTR_T),
    KEEPER(Win_get_attr, MPI_WIN_GET_ATTR_T),   KEEPER(Win_set_attr, MPI_WIN_SET_ATTR_T),
    KEEPER(Attr_get, MPI_ATTR_GET_T),           KEEPER(Attr_put, MPI_ATTR_PUT_T),
};

/* ---- What the binding calls ------------------------------------------------------------------ */

/* Gives what was on the way already: a layer or a copy function may be written in Fortran. */
static struct request begin(enum call call, int keyval, int type, void *value, const void *frame)
{
    const struct request outer = request;
    request = (struct request){.call = call,
                               .keyval = c_keyval(keyval),
                               .type = (enum type)type,
                               .value = value,
                               .frame = frame};
    return outer;
}

static struct request end(const struct request *outer)
{
    const struct request done = request;
    request = *outer;
    return done;
}

/* NUMBER: the function with values of address kind, INTEGERS: the older one with integers. */
#define REPLACEMENT_GET(CALL, NUMBER, INTEGERS, HANDLE)                                            \
    REPLACEMENT static int replacement_##CALL(HANDLE handle, int keyval, void *value, int *flag,   \
                                              int type)                                            \
    {                                                                                              \
        qmpi_function *const entry = qmpi_entries[type == INTEGER ? (INTEGERS) : (NUMBER)];        \
        void *c_value = NULL;                                                                      \
        int found = 0;                                                                             \
        const struct request outer = begin(CALL, keyval, type, &c_value, QMPI_THIS_FRAME());       \
        const int result = ((int (*)(HANDLE, int, void *, int *))entry)(handle, c_keyval(keyval),  \
                                                                        &c_value, &found);         \
        const struct request done = end(&outer);                                                   \
        if (result != MPI_SUCCESS)                                                                 \
            return result;                                                                         \
        *flag = found;                                                                             \
        if (found) {                                                                               \
            c_value = to_fortran(&done, c_value);                                                  \
            memcpy(value, &c_value, sizeof c_value);                                               \
        }                                                                                          \
        return result;                                                                             \
    }
#define REPLACEMENT_SET(CALL, NUMBER, INTEGERS, HANDLE)                                            \
    REPLACEMENT static int replacement_##CALL(HANDLE handle, int keyval, void *value, int type)    \
    {                                                                                              \
        qmpi_function *const entry = qmpi_entries[type == INTEGER ? (INTEGERS) : (NUMBER)];        \
        const struct request outer = begin(CALL, keyval, type, value, QMPI_THIS_FRAME());          \
        const int result = ((int (*)(HANDLE, int, void *))entry)(handle, c_keyval(keyval), value); \
        end(&outer);                                                                               \
        return result;                                                                             \
    }
REPLACEMENT_GET(GET_COMM, MPI_COMM_GET_ATTR_T, MPI_ATTR_GET_T, MPI_Comm)
REPLACEMENT_GET(GET_TYPE, MPI_TYPE_GET_ATTR_T, MPI_TYPE_GET_ATTR_T, MPI_Datatype)
REPLACEMENT_GET(GET_WIN, MPI_WIN_GET_ATTR_T, MPI_WIN_GET_ATTR_T, MPI_Win)
REPLACEMENT_SET(SET_COMM, MPI_COMM_SET_ATTR_T, MPI_ATTR_PUT_T, MPI_Comm)
REPLACEMENT_SET(SET_TYPE, MPI_TYPE_SET_ATTR_T, MPI_TYPE_SET_ATTR_T, MPI_Datatype)
REPLACEMENT_SET(SET_WIN, MPI_WIN_SET_ATTR_T, MPI_WIN_SET_ATTR_T, MPI_Win)

/* ---- Putting both ends in place -------------------------------------------------------------- */

static const struct {
    const char *name;
    qmpi_function *replacement;
} replacement_of[CALLS] = {
    [GET_COMM] = {"MPII_Comm_get_attr", (qmpi_function *)replacement_GET_COMM},
    [GET_TYPE] = {"MPII_Type_get_attr", (qmpi_function *)replacement_GET_TYPE},
    [GET_WIN] = {"MPII_Win_get_attr", (qmpi_function *)replacement_GET_WIN},
    [SET_COMM] = {"MPII_Comm_set_attr", (qmpi_function *)replacement_SET_COMM},
    [SET_TYPE] = {"MPII_Type_set_attr", (qmpi_function *)replacement_SET_TYPE},
    [SET_WIN] = {"MPII_Win_set_attr", (qmpi_function *)replacement_SET_WIN},
};
static bool prepared;

/* Layers learn the bases as the chains are built. */
static bool is_deferred(void)
{
    return __atomic_load_n(&QMPIX_stack.below, __ATOMIC_ACQUIRE) != NULL;
}

void *qmpi_attributes_target(const char *name)
{
    if (strncmp(name, "MPII_", 5) != 0 || (is_deferred() && !prepared))
        return NULL;
    for (int call = NONE + 1; call < CALLS; call++) {
        if (!strcmp(replacement_of[call].name, name))
            return (void *)(uintptr_t)replacement_of[call].replacement;
    }
    return NULL;
}

void qmpi_attributes_prepare(void)
{
    if (prepared || is_deferred())
        return;
    for (int call = NONE + 1; call < CALLS; call++) {
        typed[call] = (qmpi_function *)(uintptr_t)qmpi_base_symbol(replacement_of[call].name);
        if (!typed[call])
            return;
    }
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++) {
        *keepers[i].library = qmpi_bases[keepers[i].number];
        qmpi_bases[keepers[i].number] = keepers[i].original;
    }
    prepared = true;
}
