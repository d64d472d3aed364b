/* SPDX-License-Identifier: MIT */
/*
 * The merged index spaces: the items of the MPI library and those that layers publish, in the order
 * in which they were first seen. An index never changes; the tables only grow. The library may add
 * variables at any time, so it is queried again when, for example, items are counted or an unknown
 * index is used.
 */
#ifndef QMPI_MPIT_INDEX_H
#define QMPI_MPIT_INDEX_H

#include "mpit/types.h"

#include <stdatomic.h>

enum qmpi_mpit_space { QMPI_MPIT_CVARS, QMPI_MPIT_PVARS, QMPI_MPIT_CATEGORIES, QMPI_MPIT_SPACES };

struct qmpi_mpit_category;

/* The common part of published items; the first member of the structures below. Exists for the
 * whole run. */
struct qmpi_mpit_item {
    enum qmpi_mpit_space space;
    int tool_id;             /* 0: the dispatcher */
    int index;               /* merged index; -1: not assigned yet */
    char *name, *short_name; /* the full name, and the name that the layer gave */
    char *description;
    struct qmpi_mpit_category *category; /* its category; NULL: the item is the category `qmpi` */
    atomic_bool gone;                    /* its layer was left out of the stack */
    struct qmpi_mpit_item *same_hash;    /* the next one whose name has the same hash */
};

/* A variable. Members without a comment are as in QMPIX_Pvar and QMPIX_Cvar. */
struct qmpi_mpit_variable {
    struct qmpi_mpit_item item;
    int verbosity;
    const struct qmpi_mpit_type *type;
    int count;
    MPI_T_enum enumtype;
    int bind, object_size; /* object_size: bytes of the handle of the object; 0: no binding */
    void *address;
    QMPIX_Var_read *read;
    QMPIX_Var_write *write;
    QMPIX_Var_reset *reset;
    QMPIX_Var_open *open;
    void *user;
    int scope;     /* cvars */
    int var_class; /* pvars, from here on */
    enum qmpi_mpit_style style;
    bool readonly, continuous, atomic;
    bool simple;       /* a sum of one 64-bit integer at an address, for a fast path */
    uint64_t *initial; /* GENERIC at an address: the values after a reset; otherwise NULL */
    _Atomic(struct qmpi_mpit_state *)
        marks; /* watermarks: the states of all handles, also of freed ones */
};

struct qmpi_mpit_category {
    struct qmpi_mpit_item item;
    struct {
        struct qmpi_mpit_item **items;
        int count;
        size_t room;
    } members[QMPI_MPIT_SPACES]; /* [space]: the items of this kind in the category */
};

/* The meaning of an index: a published item, or else an index of the MPI library. */
struct qmpi_mpit_place {
    struct qmpi_mpit_item *item; /* NULL: `library` is the index in the MPI library */
    int library;
};

/* Whether an index exists and was not withdrawn; if so, sets its meaning. If the index is known
 * already, no lock is taken. */
bool qmpi_mpit_find(enum qmpi_mpit_space space, int index, struct qmpi_mpit_place *place);

/* Returns the published item with this index; NULL: there is none, or it has been withdrawn. Never
 * queries the library, so signal handlers may call it. */
struct qmpi_mpit_item *qmpi_mpit_find_published(enum qmpi_mpit_space space, int index);

/* Returns the number of indices. */
int qmpi_mpit_count(enum qmpi_mpit_space space);

/* Replaces `count` indices of the library by the merged indices. An index that has no merged index,
 * for example because memory is exhausted, stays as it is. */
void qmpi_mpit_translate(enum qmpi_mpit_space space, int count, int *indices);

/* Does the same for one index, and returns the result. */
int qmpi_mpit_index_of_library(enum qmpi_mpit_space space, int library);

/*
 * Returns the published item with this name; NULL: none. Names of performance variables are unique
 * only within their class, `var_class`.
 */
struct qmpi_mpit_item *qmpi_mpit_find_name(enum qmpi_mpit_space space, const char *name,
                                           int var_class);

/* Returns the layer's category with this NAME or full name; NULL: none. */
struct qmpi_mpit_category *qmpi_mpit_find_category(int tool_id, const char *name);

/*
 * Adds an item with a new name, also to its category. Returns false, and adds nothing, if a
 * published item has this name or no index is left. Calls qmpi_memory_exhausted if memory is
 * exhausted.
 */
bool qmpi_mpit_add(struct qmpi_mpit_item *item, int var_class);

/* Returns the index of an item, and assigns one if necessary; -1: memory is exhausted. */
int qmpi_mpit_index_of(struct qmpi_mpit_item *item);

/* Returns how often the contents of published categories have changed. */
int qmpi_mpit_changes(void);

/* Returns the number of members of one kind in a category, and stores up to `length` of their
 * indices. */
int qmpi_mpit_members(const struct qmpi_mpit_category *category, enum qmpi_mpit_space space,
                      int length, int *indices);

/* Hides everything that a layer has published; the indices stay reserved. */
void qmpi_mpit_withdraw(int tool_id);

/* Whether the scope of a control variable allows writing. */
static inline bool qmpi_mpit_is_writable(const struct qmpi_mpit_variable *cvar)
{
    return cvar->scope != MPI_T_SCOPE_CONSTANT && cvar->scope != MPI_T_SCOPE_READONLY;
}

#endif
