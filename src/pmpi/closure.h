/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects and their dependencies, as the loader resolved them. They determine the
 * objects of a layer: an object that only a tool reaches is private to the tool and part of its
 * layer. An object that was only loaded at the same time, for example by another thread, is not.
 */
#ifndef QMPI_PMPI_CLOSURE_H
#define QMPI_PMPI_CLOSURE_H

#include "elf/elf.h"

#include <stdbool.h>

struct qmpi_closure_object {
    struct qmpi_elf_loaded object; /* with the name in the loader's list */
    bool mpi;                      /* an MPI library, a binding of one, or libqmpi */
    bool runtime;                  /* exists once per process (process/runtime_libraries.h) */
    bool tool;                     /* a tool itself, or a library that a tool is opening */
    bool owned;                    /* part of a layer already */
    bool base;                     /* the MPI library or libqmpi reaches it */
    bool programs; /* the program, or an object that does not belong to a tool, reaches it */
    bool reached;  /* the tool in question reaches it */
    int first_need, need_count; /* in `needs`: the objects that it needs, in its order */
};

struct qmpi_closure {
    struct qmpi_closure_object *objects; /* in the loader's order */
    int count;
    struct qmpi_closure_name *names; /* hash table of the names in the loader's list */
    int room;
    int *needs; /* indices of objects */
    int total_needs;
};

/*
 * Calls `use` while the loader neither adds nor removes objects. `use` must not wait for another
 * thread. `path` is the path of a library that a tool is opening, and that therefore does not
 * belong to the program; NULL: none.
 */
typedef void qmpi_closure_user(void *data, struct qmpi_closure *closure);
void qmpi_closure_use(const char *path, qmpi_closure_user *use, void *data);

/* Fills `names`, once all objects are known. For qmpi_closure_use. */
void qmpi_closure_add_names(struct qmpi_closure *closure);

/* Returns the index of the object for a DT_NEEDED name or a path; -1: none. */
int qmpi_closure_find(const struct qmpi_closure *closure, const char *name);

/* Returns the index of the object that is loaded at this address; -1: none. */
int qmpi_closure_at(const struct qmpi_closure *closure, ElfW(Addr) base);

/*
 * Returns the indices of the objects that `first` reaches, starting with itself, in the search
 * order of the loader (breadth first). The caller frees the array. The search does not continue in
 * MPI libraries, other tools, and libraries that exist once per process.
 */
int *qmpi_closure_visit(struct qmpi_closure *closure, int first, int *count);

/* Returns, of these objects, the first one and those that are private to it and not in a layer yet.
 * The caller frees the array. */
struct qmpi_elf_loaded *qmpi_closure_members(struct qmpi_closure *closure, int first, int *count);

/* The same for a loaded tool, which must not be unloaded. */
struct qmpi_elf_loaded *qmpi_closure_of(const struct qmpi_elf_loaded *object, int *count);

#endif
