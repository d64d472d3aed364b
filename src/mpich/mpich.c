/* SPDX-License-Identifier: MIT */
/*
 * The calls of MPICH's variant that differ from those of QMPI, with the prototypes and numbers of
 * MPICH's mpi.h. The two that register a tool and its storage are in registry/tool.c and
 * registry/layer.c, because QMPI also has these calls. Unlike MPICH's own, these calls return error
 * classes, and set outputs only on success.
 */
#define _GNU_SOURCE
#include "mpich/mpich.h"

#include "elf/elf.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/redirect.h"
#include "registry/registry.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Redirecting references to the calls ----------------------------------------------------- */

/*
 * MPICH's library also defines these calls, but its versions only return an error. If a program is
 * linked so that the loader finds that library before libqmpi, all references lead to these
 * versions. This file redirects the references. It also changes the symbols of the library, because
 * the constructor of a tool that is loaded later makes these calls before the references of the
 * tool could be redirected.
 */

QMPI_LOCK(override_lock);
/* The value of qmpi_elf_load_count before the latest examination of the objects. Stored with
 * release order after the objects were changed, under the lock; a thread that reads the present
 * count here with acquire order finds them changed. */
static unsigned long long examined;

static const char *const names[] = {"QMPI_Register_tool_name", "QMPI_Register_tool_storage",
                                    "QMPI_Register_function",  "QMPI_Get_function",
                                    "QMPI_Get_tool_storage",   "QMPI_Get_calling_address"};
enum { COUNT = sizeof names / sizeof *names };

static void *targets[COUNT]; /* the definitions in libqmpi */

static void find_targets(void)
{
    struct qmpi_elf_loaded object;
    if (!qmpi_object_read_self(&object))
        return;
    for (int i = 0; i < COUNT; i++)
        targets[i] = qmpi_elf_loaded_find(&object, names[i]);
}

static void *target_of(const char *name)
{
    for (int i = 0; name[0] == 'Q' && i < COUNT; i++) {
        if (!strcmp(name, names[i]))
            return targets[i];
    }
    return NULL;
}

static void *redirect_reference(void *data, const char *name, enum qmpi_elf_reference reference)
{
    (void)data;
    (void)reference;
    return target_of(name);
}

static bool is_interposed(void)
{
    /* Uses the C library's dlsym, as find_in_scope of redirect/redirect.c does. */
    void *(*const look_up)(void *, const char *) = qmpi_real_dlsym ? qmpi_real_dlsym : dlsym;
    const void *found = QMPI_MPICH_COUNT ? look_up(RTLD_DEFAULT, names[0]) : NULL;
    const bool hidden = found && qmpi_object_mpi_library_contains(found);
    if (hidden && !targets[0])
        find_targets();
    return hidden;
}

static bool is_concerned(void *data, const struct qmpi_elf_loaded *object)
{
    (void)data;
    return !qmpi_object_is_self(object) && (qmpi_object_is_mpi_library(object) ||
                                            qmpi_elf_refers(object, redirect_reference, NULL));
}

static void override_in_object(const struct qmpi_elf_loaded *object)
{
    static bool said;
    char *problem = qmpi_object_is_mpi_library(object)
                        ? qmpi_elf_redefine(object, target_of)
                        : qmpi_elf_rewrite(object, redirect_reference, NULL);
    if (problem && !said && qmpi_launcher_reports())
        qmpi_printf("tools built for MPICH's QMPI variant may fail to register: %-s", problem);
    said |= problem != NULL;
    free(problem);
}

void qmpi_mpich_override(void)
{
    const unsigned long long loaded = qmpi_elf_load_count();
    int count = 0;
    if (__atomic_load_n(&examined, __ATOMIC_ACQUIRE) == loaded)
        return;
    struct qmpi_elf_held *held = is_interposed() ? qmpi_elf_hold(is_concerned, NULL, &count) : NULL;
    pthread_mutex_lock(&override_lock);
    for (int i = 0; i < count; i++)
        override_in_object(&held[i].object);
    __atomic_store_n(&examined, loaded, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&override_lock);
    qmpi_elf_release(held, count);
}

#if QMPI_MPICH_COUNT

/* ---- Addresses as text ----------------------------------------------------------------------- */

/*
 * MPICH's variant returns an address as text. A tool requests the text in each call, and does not
 * tell when it no longer needs it. Therefore, each address has one text, which is created once and
 * kept. A signal handler may interrupt this code and call it again through an MPI call, so it takes
 * no lock and does not call malloc, which the interrupted code may be executing.
 */

/* The text of an address, as 0x and hexadecimal digits. */
struct mpich_address {
    const void *address;
    char text[2 + 2 * sizeof(void *) + 1];
};

struct text_entry {
    struct mpich_address public; /* must be first */
    struct text_entry *next;     /* an older one in the same bucket */
};

enum { BUCKETS = 4096, CHUNK_SIZE = 1 << 16 };
/* Lists that only grow: an exchange makes a complete entry the first one; any thread or signal
 * handler loads the first one with acquire order. */
static _Atomic(struct text_entry *) buckets[BUCKETS];

/* Entries are allocated in chunks. */
struct chunk {
    atomic_size_t used; /* entries taken; an atomic addition gives each thread one of its own, and
                           the sum may exceed CHUNK_ENTRIES */
    struct text_entry entries[];
};
enum { CHUNK_ENTRIES = (CHUNK_SIZE - sizeof(struct chunk)) / sizeof(struct text_entry) };
/* Exchanged after the new chunk was mapped; a thread that finds a chunk here may use it. */
static _Atomic(struct chunk *) current;

static void add_chunk(struct chunk *full)
{
    struct chunk *chunk =
        mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED)
        return;
    if (!atomic_compare_exchange_strong(&current, &full, chunk))
        munmap(chunk, CHUNK_SIZE); /* another thread or a signal handler has added a chunk first */
}

/* Returns NULL if out of memory. */
static struct text_entry *new_entry(void)
{
    for (;;) {
        struct chunk *chunk = atomic_load(&current);
        const size_t place = chunk ? atomic_fetch_add(&chunk->used, 1) : (size_t)CHUNK_ENTRIES;
        if (place < CHUNK_ENTRIES)
            return &chunk->entries[place];
        add_chunk(chunk);
        if (atomic_load(&current) == chunk)
            return NULL;
    }
}

static void write_hexadecimal(char *text, const void *address)
{
    static const char digits[] = "0123456789abcdef";
    int shift = 8 * (int)sizeof address - 4;
    *text++ = '0';
    *text++ = 'x';
    while (shift > 0 && !((uintptr_t)address >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *text++ = digits[(uintptr_t)address >> shift & 15];
    *text = '\0';
}

static const struct mpich_address *find_in_bucket(const struct text_entry *entry,
                                                  const void *address)
{
    while (entry && entry->public.address != address)
        entry = entry->next;
    return entry ? &entry->public : NULL;
}

/* Returns the text of an address: always the same immutable object for the same address; NULL: out
 * of memory. */
static const struct mpich_address *find_address_text(const void *address)
{
    const uint64_t hash = (uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15);
    _Atomic(struct text_entry *) *bucket = &buckets[(hash >> 32) % BUCKETS];
    struct text_entry *head = atomic_load_explicit(bucket, memory_order_acquire), *made = NULL;
    for (;;) {
        const struct mpich_address *found = find_in_bucket(head, address);
        if (found || (!made && !(made = new_entry())))
            return found;
        made->public.address = address;
        write_hexadecimal(made->public.text, address);
        made->next = head;
        if (atomic_compare_exchange_weak(bucket, &head, made))
            return &made->public;
    }
}

/* Below this line, the three names that are undefined here have the meaning of mpi.h. */
typedef QMPI_Context our_context;
#undef QMPI_Context
#undef QMPI_Functions_enum
#undef QMPI_Get_function

/* ---- The calls ------------------------------------------------------------------------------- */

_Static_assert(sizeof(QMPI_Context) == sizeof(struct qmpi_dispatch_mpich_context) &&
                   _Alignof(QMPI_Context) == _Alignof(struct qmpi_dispatch_mpich_context),
               "the context of mpi.h differs from that of the generated functions");

QMPI_API int QMPI_Register_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                                    void (*function_ptr)(void));
QMPI_API int QMPI_Get_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                               void (**function_ptr)(void), int *next_tool_id);
QMPI_API int QMPI_Get_tool_storage(QMPI_Context context, int tool_id, void **storage);
QMPI_API int QMPI_Get_calling_address(QMPI_Context context, void **address);

int QMPI_Register_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                           void (*function_ptr)(void))
{
    const unsigned place = (unsigned)function_enum;
    return qmpi_layer_note_registration(
        __func__,
        place < QMPI_MPICH_COUNT
            ? qmpi_layer_intercept_mpich(calling_tool_id, qmpi_mpich_numbers[place], function_ptr)
            : MPI_ERR_ARG);
}

/* Few checks are necessary, because each tool_id has a row, in which the elements of missing
 * functions are NULL. */
int QMPI_Get_function(int calling_tool_id, QMPI_MPICH_NUMBER function_enum,
                      void (**function_ptr)(void), int *next_tool_id)
{
    const unsigned place = (unsigned)function_enum, id = (unsigned)calling_tool_id;
    if (place >= QMPI_MPICH_COUNT || id >= qmpi_next_row_count || !function_ptr || !next_tool_id)
        return MPI_ERR_ARG;
    const our_context *row = __atomic_load_n(&qmpi_next_rows[id], __ATOMIC_ACQUIRE);
    const our_context next = __atomic_load_n(&row[qmpi_mpich_numbers[place]], __ATOMIC_ACQUIRE);
    if (!next)
        return MPI_ERR_ARG;
    *function_ptr = ((const struct qmpi_node *)next)->mpich_function;
    *next_tool_id = next->tool_id;
    return MPI_SUCCESS;
}

/* Tool 0, the MPI library, has no storage; its element is NULL. */
int QMPI_Get_tool_storage(QMPI_Context context, int tool_id, void **storage)
{
    (void)context;
    if (!storage || tool_id < 0 || tool_id > QMPIX_stack.layers || !QMPIX_stack.storage)
        return MPI_ERR_ARG;
    *storage = QMPIX_stack.storage[tool_id];
    return MPI_SUCCESS;
}

/*
 * Caches the latest answers of this thread by calling address, because tools ask in each call. Each
 * element is a single pointer to an immutable object, so that signal handlers may use the cache,
 * too.
 */
static _Thread_local const struct mpich_address *answers[16];

static __attribute__((noinline)) int
find_calling_address(void *caller, const struct mpich_address **answer, void **address)
{
    const bool direct = !qmpi_binding_any && !qmpi_pmpi_is_used;
    const void *place = direct ? caller : qmpi_caller_of_program(caller);
    const struct mpich_address *found = place ? find_address_text(place) : NULL;
    *address = found ? (void *)(uintptr_t)found->text : NULL;
    if (direct) /* otherwise, unwinding may find another address next time */
        *answer = found;
    return MPI_SUCCESS;
}

int QMPI_Get_calling_address(QMPI_Context context, void **address)
{
    (void)context;
    if (!address)
        return MPI_ERR_ARG;
    void *const caller = qmpi_caller_of_layers();
    const struct mpich_address **answer =
        &answers[(uintptr_t)caller / 4 % (sizeof answers / sizeof *answers)];
    const struct mpich_address *known = *answer;
    if (!known || known->address != caller)
        return find_calling_address(caller, answer, address);
    *address = (void *)(uintptr_t)known->text;
    return MPI_SUCCESS;
}

#endif
