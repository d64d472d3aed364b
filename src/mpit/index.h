/* SPDX-License-Identifier: MIT */
/*
 * The merged index spaces: what the MPI library has and what layers publish, in the order in which
 * they were first seen, the library's first. An index once given stays; the tables only grow. The
 * library's own indices are asked for whenever somebody counts, looks for a name or uses an index
 * that is not there yet, for the library may add variables at any time.
 */
#ifndef QMPI_MPIT_INDEX_H
#define QMPI_MPIT_INDEX_H

#include "mpit/types.h"

#include <stdatomic.h>

enum qmpi_mpit_space { QMPI_MPIT_CVARS, QMPI_MPIT_PVARS, QMPI_MPIT_CATEGORIES, QMPI_MPIT_SPACES };

struct qmpi_mpit_category;

/* What all that is published has; the first member of the structures below. Kept for the run. */
struct qmpi_mpit_item {
    enum qmpi_mpit_space space;
    int tool_id;             /* 0: the dispatcher's */
    int index;               /* merged; -1: nobody has asked yet */
    char *name, *short_name; /* as everybody sees it, and as the layer gave it */
    char *description;
    struct qmpi_mpit_category *category; /* that it is in; NULL: `qmpi` itself */
    atomic_bool gone;                    /* its layer was left out of the stack after all */
    struct qmpi_mpit_item *same_hash;    /* the next one in the table of names */
};

struct qmpi_mpit_variable {
    struct qmpi_mpit_item item;
    int verbosity;
    const struct qmpi_mpit_type *type;
    int count;
    MPI_T_enum enumtype;
    int bind, object_size;
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
    bool simple;       /* a sum of one 64-bit integer at an address: read without a detour */
    uint64_t *initial; /* GENERIC at an address: what it is reset to; else NULL */
    _Atomic(struct qmpi_mpit_state *) marks; /* watermarks: the states of all their handles ever */
};

struct qmpi_mpit_category {
    struct qmpi_mpit_item item;
    struct {
        struct qmpi_mpit_item **items;
        int count;
    } members[QMPI_MPIT_SPACES];
};

/* What an index means: an item of ours, or else the MPI library's own index. */
struct qmpi_mpit_place {
    struct qmpi_mpit_item *item;
    int library;
};

/* Whether the index exists; then sets what it means. Takes no lock where it is known already. */
bool qmpi_mpit_find(enum qmpi_mpit_space space, int index, struct qmpi_mpit_place *place);

/* As qmpi_mpit_find, but false for what is not there (any more) and never asks the library. For
 * signal handlers. */
struct qmpi_mpit_item *qmpi_mpit_find_published(enum qmpi_mpit_space space, int index);

/* How many indices there are. */
int qmpi_mpit_count(enum qmpi_mpit_space space);

/* The merged indices of `count` ones of the library, in place. */
void qmpi_mpit_translate(enum qmpi_mpit_space space, int count, int *indices);

/* The merged index of one of the library. */
int qmpi_mpit_index_of_library(enum qmpi_mpit_space space, int library);

/*
 * The item of ours with this name; NULL: there is none. Names of performance variables are unique
 * within their class only: `var_class`.
 */
struct qmpi_mpit_item *qmpi_mpit_find_name(enum qmpi_mpit_space space, const char *name,
                                           int var_class);

/* The layer's category with this NAME, or with this whole name; NULL: none. */
struct qmpi_mpit_category *qmpi_mpit_find_category(int tool_id, const char *name);

/*
 * Adds an item whose name nobody has, to its category too. False: an item of ours has that name, or
 * there is no index left for it; nothing was added.
 */
bool qmpi_mpit_add(struct qmpi_mpit_item *item, int var_class);

/* The item's index, which all have from now on. */
int qmpi_mpit_index_of(struct qmpi_mpit_item *item);

/* How often categories of ours have changed. */
int qmpi_mpit_changes(void);

/* How many members of one sort a category has; up to `length` of their indices go to `indices`. */
int qmpi_mpit_members(const struct qmpi_mpit_category *category, enum qmpi_mpit_space space,
                      int length, int *indices);

/* Takes all that a layer has published out of sight; indices stay taken. */
void qmpi_mpit_withdraw(int tool_id);

#endif
