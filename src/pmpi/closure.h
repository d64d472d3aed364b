/* SPDX-License-Identifier: MIT */
/*
 * The objects of a PMPI layer, and the layer of an address. The loaded objects and their
 * dependencies, as the loader resolved them, determine the objects of a layer: an object that only
 * a tool reaches, and that does not exist once per process (process/runtime_libraries.h), is
 * private to the tool and part of its layer. An object that happened to be loaded at the same time,
 * for example by another thread, is not part of it.
 *
 * Calls of PMPI tools have no context, so the layer is found by the address of the calling code. A
 * library that is opened for a layer, the tool's own or one that the tool opens, becomes a group of
 * objects of the layer (registry/layer.h). Its constructors run before the references of the
 * objects can be changed. Calls that the objects make until then, in any thread, are assigned to
 * the layer if the calling object is in the closure of the library.
 */
#ifndef QMPI_PMPI_CLOSURE_H
#define QMPI_PMPI_CLOSURE_H

#include "elf/elf.h"
#include "registry/registry.h"

#include <stdbool.h>

/* ---- The layer of an address ----------------------------------------------------------------- */

/* Whether there are PMPI layers; for a fast check on frequent calls. */
extern bool qmpi_pmpi_is_used __attribute__((visibility("hidden")));

/* Returns the PMPI layer whose code contains `address`, also while the layer is being loaded. NULL:
 * none. Any thread. */
struct qmpi_layer *qmpi_pmpi_layer_of(const void *address);

/*
 * Whether the code at a return address belongs to a PMPI layer. A program that contains wrappers is
 * a layer, too, but only the code of its wrappers (functions MPI_X and Fortran procedures) belongs
 * to the layer. Any thread.
 */
bool qmpi_pmpi_holds(const void *address);

/*
 * Returns the target of a call that a PMPI tool makes before its references are changed, from a
 * constructor or another thread. `number` is the called function, MPI_X or, with `pmpi`, PMPI_X;
 * the call returns to `caller`. NULL: `caller` does not belong to a PMPI layer, or this MPI lacks
 * the function.
 */
qmpi_function *qmpi_pmpi_target(int number, const void *caller, bool pmpi);

/* ---- The objects of a layer ------------------------------------------------------------------ */

/* A library that is being opened for a layer. */
struct qmpi_closure_opening;

/* Called before dlopen of `path`, which is also the name of the library in the loader's list. */
struct qmpi_closure_opening *qmpi_closure_begin_opening(struct qmpi_layer *layer, const char *path);

/*
 * Called after dlopen with its result. Returns the group of the objects that now belong to the
 * layer; NULL: the library was not opened, there are no new objects, or memory is exhausted.
 */
struct qmpi_layer_group *qmpi_closure_end_opening(struct qmpi_closure_opening *opening,
                                                  void *handle);

/* Whether there was no memory for the group in qmpi_closure_end_opening. */
bool qmpi_closure_opening_is_lost(const struct qmpi_closure_opening *opening);

/* Returns a new group for a tool that is already loaded: the tool, its private dependencies, and
 * the preloaded libraries that call PMPI alone and need one of these objects. */
struct qmpi_layer_group *qmpi_closure_adopt(struct qmpi_layer *layer,
                                            const struct qmpi_elf_loaded *object);

/* Does the same for a program that contains wrappers itself; the group consists of the program
 * alone. */
struct qmpi_layer_group *qmpi_closure_adopt_program(struct qmpi_layer *layer,
                                                    const struct qmpi_elf_loaded *program);

/* Returns `object`, which must stay loaded, and the objects that are private to it and not in a
 * layer yet. The caller frees the array. */
struct qmpi_elf_loaded *qmpi_closure_of(const struct qmpi_elf_loaded *object, int *count);

/* ---- All objects ----------------------------------------------------------------------------- */

struct qmpi_closure_object {
    struct qmpi_elf_loaded object; /* with the name in the loader's list */
    bool mpi;                      /* an MPI library, a binding of one, or libqmpi */
    bool runtime;                  /* exists once per process (process/runtime_libraries.h) */
    bool tool;                     /* a tool itself, or a library that a tool is opening */
    bool wrappers;      /* contains wrappers of a preloaded tool, which needs this object */
    bool owned;         /* part of a layer already */
    bool preloaded;     /* listed in LD_PRELOAD */
    bool mpi_needs;     /* the MPI library or libqmpi reaches it */
    bool program_needs; /* the program, or an object that does not belong to a tool, reaches it */
    bool reached;       /* the object at which the latest search began reaches it */
    int first_need, need_count; /* the range in `needs` that lists the objects that it needs, in the
                                   order of its DT_NEEDED entries */
};

struct qmpi_closure {
    struct qmpi_closure_object *objects; /* in the loader's order */
    int count;
    struct qmpi_closure_name *names; /* hash table: names by which the loader finds the objects */
    int room;                        /* slots of the hash table, a power of two */
    int *needs;                      /* indices of objects */
    int total_needs;                 /* the number of elements of `needs` */
};

/*
 * Calls `use` while the loader neither adds nor removes objects. `use` must not wait for another
 * thread. `path` is the path of a library that a tool is opening, and that therefore does not
 * belong to the program; NULL: none.
 */
typedef void qmpi_closure_user(void *data, struct qmpi_closure *closure);
void qmpi_closure_use(const char *path, qmpi_closure_user *use, void *data);

/* Returns the index of the object for a DT_NEEDED name or a path; -1: none. */
int qmpi_closure_find(const struct qmpi_closure *closure, const char *name);

#endif
