/* SPDX-License-Identifier: MIT */
/*
 * See handles.h. If an argument is wrong, a function with a communicator as an argument invokes the
 * error handler of that communicator. Therefore, libqmpi passes a communicator of its own, which
 * has MPI_ERRORS_RETURN.
 *
 * The type signatures of datatypes are hashes: the sequence of basic types is a polynomial modulo a
 * prime, so that the hash of a concatenation follows from those of its parts. All derived types
 * except structures repeat the signature of another type as often as it fits into their size; types
 * from MPI_Type_create_f90_… count as basic. The signature of a derived type is cached with it, as
 * an attribute.
 */
#include "observe/handles.h"

#include "dispatch/dispatch.h"
#include "observe/attributes.h"
#include "observe/record.h"
#include "process/process.h"
#include "util/util.h"

#include <limits.h>
#include <qmpi/observer.h>
#include <stdlib.h>
#include <string.h>

/* ---- Contents of datatypes ------------------------------------------------------------------- */

/* How a datatype was made: MPI 4.0, section 5.1.13, "Decoding a Datatype". */

struct type_contents {
    int combiner;
    MPI_Count integer_count, address_count, count_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *counts; /* contains the counts in place of `integers` if the type was made by
                          MPI_Type_…_c */
    MPI_Datatype *types;
};

/* Sets the combiner and the numbers. */
static bool find_envelope(MPI_Datatype type, struct type_contents *contents)
{
    *contents = (struct type_contents){.integers = NULL};
#if MPI_VERSION >= 4
    if (qmpi_mpi_library_provides(MPI_TYPE_GET_ENVELOPE_C_T))
        return QMPI_PMPI(Type_get_envelope_c, TYPE_GET_ENVELOPE_C)(
                   type, &contents->integer_count, &contents->address_count, &contents->count_count,
                   &contents->type_count, &contents->combiner) == MPI_SUCCESS;
#endif
    int integers = 0, addresses = 0, types = 0;
    const int result = QMPI_PMPI(Type_get_envelope, TYPE_GET_ENVELOPE)(type, &integers, &addresses,
                                                                       &types, &contents->combiner);
    contents->integer_count = integers;
    contents->address_count = addresses;
    contents->type_count = types;
    return result == MPI_SUCCESS;
}

/* Whether the combiner is that of a type from MPI_Type_create_f90_…; such types are predefined. */
static bool is_f90(int combiner)
{
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

/* Frees a type that MPI_Type_get_contents has returned, unless it is predefined. */
static void release_type(MPI_Datatype type)
{
    struct type_contents contents;
    if (find_envelope(type, &contents) && contents.combiner != MPI_COMBINER_NAMED &&
        !is_f90(contents.combiner))
        QMPI_PMPI(Type_free, TYPE_FREE)(&type);
}

/* Frees the arrays, and the types in them that are not predefined. */
static void release_contents(struct type_contents *contents)
{
    for (MPI_Count i = 0; i < contents->type_count; i++)
        release_type(contents->types[i]);
    free(contents->integers);
    free(contents->addresses);
    free(contents->counts);
    free(contents->types);
}

/* Fills the arrays, which have the numbers of elements that find_envelope has set. */
static bool read_contents(MPI_Datatype type, struct type_contents *contents)
{
#if MPI_VERSION >= 4
    if (qmpi_mpi_library_provides(MPI_TYPE_GET_CONTENTS_C_T))
        return QMPI_PMPI(Type_get_contents_c, TYPE_GET_CONTENTS_C)(
                   type, contents->integer_count, contents->address_count, contents->count_count,
                   contents->type_count, contents->integers, contents->addresses, contents->counts,
                   contents->types) == MPI_SUCCESS;
#endif
    return QMPI_PMPI(Type_get_contents, TYPE_GET_CONTENTS)(
               type, (int)contents->integer_count, (int)contents->address_count,
               (int)contents->type_count, contents->integers, contents->addresses,
               contents->types) == MPI_SUCCESS;
}

/* Sets the members other than the combiner and the numbers. The combiner must not be
 * MPI_COMBINER_NAMED. */
static bool find_contents(MPI_Datatype type, struct type_contents *contents)
{
    contents->integers = calloc((size_t)contents->integer_count + 1, sizeof(int));
    contents->addresses = calloc((size_t)contents->address_count + 1, sizeof(MPI_Aint));
    contents->counts = calloc((size_t)contents->count_count + 1, sizeof(MPI_Count));
    contents->types = calloc((size_t)contents->type_count + 1, sizeof(MPI_Datatype));
    bool found = contents->integers && contents->addresses && contents->counts && contents->types;
    found = found && read_contents(type, contents);
    if (!found) {
        contents->type_count = 0;
        release_contents(contents);
    }
    return found;
}

/* ---- The communicator of libqmpi ------------------------------------------------------------- */

QMPI_LOCK(private_lock);
static MPI_Comm private_comm;
/* Stored with release order after private_comm, under the lock; a thread that has loaded it with
 * acquire order may use private_comm. */
static int has_private_comm;

/* Frees the communicator when MPI_Finalize deletes the attributes of MPI_COMM_SELF, because MPI
 * calls are still possible then. Also called if MPI has refused the attribute. */
static void free_private_comm(void *value)
{
    (void)value;
    if (__atomic_exchange_n(&has_private_comm, 0, __ATOMIC_ACQ_REL))
        QMPI_PMPI(Comm_free, COMM_FREE)(&private_comm);
}

static struct qmpi_attribute of_self = QMPI_ATTRIBUTE(free_private_comm);

/* Unlike MPI_Comm_dup, MPI_Comm_split calls no attribute callbacks of the program. */
static bool make_private_comm(void)
{
    struct qmpi_quiet_errors self;
    MPI_Comm comm;
    qmpi_quiet_errors_begin(&self, MPI_COMM_SELF);
    const int result = QMPI_PMPI(Comm_split, COMM_SPLIT)(MPI_COMM_SELF, 0, 0, &comm);
    qmpi_quiet_errors_end(&self);
    if (result != MPI_SUCCESS)
        return false;
    QMPI_PMPI(Comm_set_errhandler, COMM_SET_ERRHANDLER)(comm, MPI_ERRORS_RETURN);
    private_comm = comm;
    __atomic_store_n(&has_private_comm, 1, __ATOMIC_RELEASE);
    return qmpi_attribute_set_comm(&of_self, MPI_COMM_SELF, &private_comm);
}

static bool find_private_comm(void)
{
    if (__atomic_load_n(&has_private_comm, __ATOMIC_ACQUIRE))
        return true;
    pthread_mutex_lock(&private_lock);
    const bool found = has_private_comm || make_private_comm();
    pthread_mutex_unlock(&private_lock);
    return found;
}

#ifdef MPI_SESSION_NULL
/* Makes a communicator for one question only. Without MPI_COMM_SELF, libqmpi could not learn when a
 * permanent one must be freed. */
static bool ask_in_session(bool (*ask)(const void *handle, MPI_Comm comm), const void *handle)
{
    MPI_Session session;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    bool answer = false;
    if (QMPI_PMPI(Session_init, SESSION_INIT)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) !=
        MPI_SUCCESS)
        return false;
    if (QMPI_PMPI(Group_from_session_pset, GROUP_FROM_SESSION_PSET)(session, "mpi://SELF",
                                                                    &group) == MPI_SUCCESS &&
        QMPI_PMPI(Comm_create_from_group, COMM_CREATE_FROM_GROUP)(
            group, "qmpi", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS)
        answer = ask(handle, comm);
    if (comm != MPI_COMM_NULL)
        QMPI_PMPI(Comm_free, COMM_FREE)(&comm);
    if (group != MPI_GROUP_NULL)
        QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    QMPI_PMPI(Session_finalize, SESSION_FINALIZE)(&session);
    return answer;
}
#endif

/* Asks a question about a handle, which is passed to MPI together with libqmpi's own communicator.
 */
static bool ask_with_private_comm(bool (*ask)(const void *handle, MPI_Comm comm),
                                  const void *handle)
{
    int initialized = 0, finalized = 0;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    if (finalized)
        return false;
    if (initialized)
        return find_private_comm() && ask(handle, private_comm);
#ifdef MPI_SESSION_NULL
    return ask_in_session(ask, handle);
#else
    return false;
#endif
}

/* ---- Checks of datatypes --------------------------------------------------------------------- */

/* Predefined types that were found to be valid; they remain valid. */
enum { NAMED_BITS = 6 };
/* Any thread reads and writes these words; they protect no other data, so relaxed order
 * suffices. */
static uintptr_t named[1 << NAMED_BITS];

static uintptr_t *named_slot_of(MPI_Datatype type)
{
    return &named[qmpi_record_place(QMPI_KEY_OF(type), NAMED_BITS)];
}

static void remember_named(MPI_Datatype type)
{
    struct type_contents contents;
    if (find_envelope(type, &contents) && contents.combiner == MPI_COMBINER_NAMED)
        __atomic_store_n(named_slot_of(type), QMPI_KEY_OF(type), __ATOMIC_RELAXED);
}

/* Whether the error is that the type is not committed. MPICH then refuses to pack the type, but the
 * type is valid: queries of its size and its contents succeed. */
static bool is_not_committed(int error)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    QMPI_PMPI(Error_string, ERROR_STRING)(error, text, &length);
    return strstr(text, "committed") != NULL;
}

static bool ask_type(const void *handle, MPI_Comm comm)
{
    int size;
    const MPI_Datatype type = *(const MPI_Datatype *)handle;
    const int error = QMPI_PMPI(Pack_size, PACK_SIZE)(0, type, comm, &size);
    return error == MPI_SUCCESS || is_not_committed(error);
}

bool qmpi_handle_is_type(MPI_Datatype type)
{
    if (type == MPI_DATATYPE_NULL)
        return false;
    if (__atomic_load_n(named_slot_of(type), __ATOMIC_RELAXED) == QMPI_KEY_OF(type))
        return true;
    if (!ask_with_private_comm(ask_type, &type))
        return false;
    remember_named(type);
    return true;
}

/* ---- Error codes ----------------------------------------------------------------------------- */

/* Returns the last error class and code in use, or `otherwise` if MPI cannot be asked. */
static int last_used_code(int otherwise)
{
    int initialized = 0, finalized = 0, flag = 0;
    const int *last = NULL;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    if (initialized && !finalized)
        QMPI_PMPI(Comm_get_attr, COMM_GET_ATTR)(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    return flag ? *last : otherwise;
}

/* Whether a number can be an error code. MPICH's codes are large, and have one of its classes in
 * some bits. */
static bool is_error_code(int code)
{
    return code >= 0 && (qmpi_mpi_library_implementation() == QMPI_MPI_MPICH ||
                         code <= last_used_code(MPI_ERR_LASTCODE));
}

/* Whether MPICH has the class that it finds in a number: it accepts any number. Its text is asked
 * for because a later release may have more classes. MPICH has no texts for some of its classes,
 * and may crash if it is asked for the text of a class that was not added. */
static bool has_class(int class)
{
#ifdef MPICH_ERR_LAST_CLASS
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (class <= MPICH_ERR_LAST_CLASS ||
        (class >= MPICH_ERR_FIRST_MPIX && class <= MPICH_ERR_LAST_MPIX))
        return true;
    if (class <= MPI_ERR_LASTCODE)
        return QMPI_PMPI(Error_string, ERROR_STRING)(class, text, &length) == MPI_SUCCESS &&
               strcmp(text, "Unknown error class") != 0;
#endif
    return class <= MPI_ERR_LASTCODE || class <= last_used_code(INT_MAX);
}

int QMPIX_Error_class(int code, int *error_class)
{
    int found = code;
    if (!error_class || !is_error_code(code) ||
        QMPI_PMPI(Error_class, ERROR_CLASS)(code, &found) != MPI_SUCCESS || !has_class(found))
        return MPI_ERR_ARG;
    *error_class = found;
    return MPI_SUCCESS;
}

/* ---- Checks of communicators ----------------------------------------------------------------- */

#ifndef OPEN_MPI
static bool ask_comm(const void *handle, MPI_Comm comm)
{
    /* The handles of MPICH contain their kind. If `handle` is not a communicator, the library would
     * not use the error handler of the first communicator. */
    const uintptr_t kind = 0xfU << 26, allocation = 0x3U << 30;
    const MPI_Comm other = *(const MPI_Comm *)handle;
    int result;
    return (QMPI_KEY_OF(other) & kind) == (QMPI_KEY_OF(comm) & kind) &&
           (QMPI_KEY_OF(other) & allocation) &&
           QMPI_PMPI(Comm_compare, COMM_COMPARE)(comm, other, &result) == MPI_SUCCESS;
}
#endif

bool qmpi_handle_is_comm(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return false;
    if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
        return true;
#ifdef OPEN_MPI
    /* Neither call fails. The number of a freed communicator is read from memory that may have been
     * reused; the library then finds no communicator, or another one, by that number. */
    return QMPI_PMPI(Comm_f2c, COMM_F2C)(QMPI_PMPI(Comm_c2f, COMM_C2F)(comm)) == comm;
#else
    return qmpi_mpi_library_implementation() == QMPI_MPI_MPICH &&
           ask_with_private_comm(ask_comm, &comm);
#endif
}

/* ---- Sequences ------------------------------------------------------------------------------- */

static const uint64_t prime = ((uint64_t)1 << 61) - 1, base = 0x19e3779b97f4a7c5;
__extension__ typedef unsigned __int128 wide;

static uint64_t reduce_modulo(uint64_t value)
{
    value = (value & prime) + (value >> 61);
    return value < prime ? value : value - prime;
}

static uint64_t multiply_modulo(uint64_t a, uint64_t b)
{
    const wide product = (wide)a * b;
    return reduce_modulo((uint64_t)(product & prime) + (uint64_t)(product >> 61));
}

static uint64_t power_modulo(uint64_t value, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = multiply_modulo(result, value);
        value = multiply_modulo(value, value);
    }
    return result;
}

int QMPIX_Signature_append(QMPIX_Signature *signature, const QMPIX_Signature *other,
                           MPI_Count count)
{
    MPI_Count added, total;
    if (!signature || !other || count < 0 || signature->count < 0 || other->count < 0)
        return MPI_ERR_ARG;
    if (__builtin_mul_overflow(other->count, count, &added) ||
        __builtin_add_overflow(signature->count, added, &total))
        return MPI_ERR_ARG;
    if (!added)
        return MPI_SUCCESS;
    /* `copies` is the hash of 1, 2, 4, … copies of `other`; `shift` is the factor for the hash of
     * the elements before them. */
    uint64_t hash = signature->hash, copies = other->hash;
    uint64_t shift = power_modulo(base, (uint64_t)other->count);
    for (uint64_t left = (uint64_t)count; left; left >>= 1) {
        if (left & 1)
            hash = reduce_modulo(multiply_modulo(hash, shift) + copies);
        copies = reduce_modulo(multiply_modulo(copies, shift) + copies);
        shift = multiply_modulo(shift, shift);
    }
    *signature = (QMPIX_Signature){hash, total, signature->packed || other->packed};
    return MPI_SUCCESS;
}

/* Returns the signature of one element, from numbers that are the same for this type in all
 * processes.
 */
static QMPIX_Signature signature_of_element(uint64_t kind, uint64_t first, uint64_t second)
{
    const uint64_t factor = 0xbf58476d1ce4e5b9;
    uint64_t hash = (kind + 1) * factor;
    hash = (hash ^ hash >> 29 ^ first) * factor;
    hash = (hash ^ hash >> 29 ^ second) * factor;
    return (QMPIX_Signature){reduce_modulo(hash ^ hash >> 29), 1, 0};
}

/* ---- Basic types ----------------------------------------------------------------------------- */

/* Finds the parts of types that consist of two basic types. */
static bool find_pair(MPI_Datatype type, MPI_Datatype parts[2])
{
    const MPI_Datatype pairs[][3] = {
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
#ifdef MPI_2COMPLEX
        {MPI_2COMPLEX, MPI_COMPLEX, MPI_COMPLEX},
        {MPI_2DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX},
#endif
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (type == pairs[i][0]) {
            parts[0] = pairs[i][1];
            parts[1] = pairs[i][2];
            return true;
        }
    }
    return false;
}

/* Returns a number that is the same in all processes: the Fortran handle, or the handle of the
 * standard ABI.
 */
static uint64_t number_of(MPI_Datatype type)
{
#if defined(MPI_Type_c2f) /* it is a macro in some libraries, a function in others */
    return (uint64_t)MPI_Type_c2f(type);
#elif defined(OPEN_MPI) || defined(MPICH_VERSION)
    return (uint64_t)QMPI_PMPI(Type_c2f, TYPE_C2F)(type);
#else
    return (uintptr_t)type;
#endif
}

static QMPIX_Signature signature_of_basic(MPI_Datatype type)
{
    QMPIX_Signature signature = signature_of_element(MPI_COMBINER_NAMED, number_of(type), 0);
    signature.packed = type == MPI_PACKED;
    return signature;
}

/* Finds the signature of a predefined type. Types of size 0 are markers (MPI_LB), not elements. */
static int find_named(MPI_Datatype type, QMPIX_Signature *signature)
{
    MPI_Datatype parts[2] = {type};
    MPI_Count size = 0;
    if (QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(type, &size) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    *signature = (QMPIX_Signature){.count = 0};
    const int count = find_pair(type, parts) ? 2 : size > 0;
    for (int i = 0; i < count; i++) {
        const QMPIX_Signature part = signature_of_basic(parts[i]);
        QMPIX_Signature_append(signature, &part, 1);
    }
    return MPI_SUCCESS;
}

/* ---- Derived types --------------------------------------------------------------------------- */

static int find_signature(MPI_Datatype type, QMPIX_Signature *signature);

static int find_structure(const struct type_contents *contents, QMPIX_Signature *signature)
{
    int result = MPI_SUCCESS;
    *signature = (QMPIX_Signature){.count = 0};
    for (MPI_Count i = 0; i < contents->type_count && result == MPI_SUCCESS; i++) {
        QMPIX_Signature part;
        result = find_signature(contents->types[i], &part);
        if (result == MPI_SUCCESS)
            result = QMPIX_Signature_append(signature, &part,
                                            contents->count_count ? contents->counts[i + 1]
                                                                  : contents->integers[i + 1]);
    }
    return result;
}

/* Finds the signature of a type that repeats `part` as often as it fits into the size of the
 * type. */
static int find_repeated(MPI_Datatype type, MPI_Datatype part, QMPIX_Signature *signature)
{
    MPI_Count size = 0, part_size = 0;
    QMPIX_Signature one;
    const int result = find_signature(part, &one);
    if (result != MPI_SUCCESS)
        return result;
    if (QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(type, &size) != MPI_SUCCESS ||
        QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(part, &part_size) != MPI_SUCCESS || size < 0 ||
        part_size < 0)
        return MPI_ERR_OTHER;
    *signature = (QMPIX_Signature){.count = 0};
    return QMPIX_Signature_append(signature, &one, part_size ? size / part_size : 0);
}

static int find_derived(MPI_Datatype type, struct type_contents *contents,
                        QMPIX_Signature *signature)
{
    int result;
    if (!find_contents(type, contents))
        return MPI_ERR_OTHER;
    if (is_f90(contents->combiner)) {
        const int *integers = contents->integers;
        *signature =
            signature_of_element((uint64_t)contents->combiner, (uint64_t)integers[0],
                                 (uint64_t)(contents->integer_count > 1 ? integers[1] : 0));
        result = MPI_SUCCESS;
    } else if (contents->combiner == MPI_COMBINER_STRUCT) {
        result = find_structure(contents, signature);
    } else {
        result = find_repeated(type, contents->types[0], signature);
    }
    release_contents(contents);
    return result;
}

/* ---- Stored with the type -------------------------------------------------------------------- */

static struct qmpi_attribute of_signature = QMPI_ATTRIBUTE(free);
QMPI_LOCK(signature_lock);

/* Stores the signature, unless another thread has stored it already. */
static void store_signature(MPI_Datatype type, const QMPIX_Signature *signature)
{
    pthread_mutex_lock(&signature_lock);
    QMPIX_Signature *stored =
        qmpi_attribute_of_type(&of_signature, type) ? NULL : malloc(sizeof *stored);
    if (stored) {
        *stored = *signature;
        qmpi_attribute_set_type(&of_signature, type, stored);
    }
    pthread_mutex_unlock(&signature_lock);
}

static int find_signature(MPI_Datatype type, QMPIX_Signature *signature)
{
    struct type_contents contents;
    const QMPIX_Signature *stored = qmpi_attribute_of_type(&of_signature, type);
    if (stored) {
        *signature = *stored;
        return MPI_SUCCESS;
    }
    if (!find_envelope(type, &contents))
        return MPI_ERR_OTHER;
    if (contents.combiner == MPI_COMBINER_NAMED)
        return find_named(type, signature);
    const int result = find_derived(type, &contents, signature);
    if (result == MPI_SUCCESS && !is_f90(contents.combiner))
        store_signature(type, signature);
    return result;
}

int QMPIX_Datatype_get_signature(MPI_Datatype type, QMPIX_Signature *signature)
{
    int initialized = 0, finalized = 0;
    QMPIX_Signature found;
    if (type == MPI_DATATYPE_NULL || !signature)
        return MPI_ERR_ARG;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    if (!initialized || finalized)
        return MPI_ERR_OTHER;
    if (!qmpi_attribute_of_type(&of_signature, type) && !qmpi_handle_is_type(type))
        return MPI_ERR_OTHER;
    const int result = find_signature(type, &found);
    if (result == MPI_SUCCESS)
        *signature = found;
    return result == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
}
