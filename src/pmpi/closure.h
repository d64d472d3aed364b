/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects and what each needs, as the loader resolved it: whose an object is follows
 * from who reaches it. What a tool reaches and nobody else does is private to the tool, and part of
 * its layer; what was merely loaded at the same time, by another thread perhaps, is not.
 */
#ifndef QMPI_PMPI_CLOSURE_H
#define QMPI_PMPI_CLOSURE_H

#include "elf/loaded.h"

#include <stdbool.h>

struct qmpi_closure_object {
    struct qmpi_elf_loaded object; /* its name is the loader's */
    bool mpi;                      /* an MPI library, a binding of one, or libqmpi */
    bool runtime;  /* one of those of which a process has one (process/runtime_libraries.h) */
    bool tool;     /* a tool itself, or what one is opening */
    bool owned;    /* part of a layer already */
    bool base;     /* the MPI library or libqmpi reach it */
    bool programs; /* the program, or what is no tool's, reaches it */
    bool reached;  /* the tool in question reaches it */
};

struct qmpi_closure {
    struct qmpi_closure_object *objects; /* in the loader's order */
    int count;
    struct qmpi_closure_name *names; /* by what the loader knows them */
    int room;
};

/*
 * Calls `use` while the loader neither adds nor removes an object. It must not wait for another
 * thread. `path` is that of a library that a tool is opening, which is therefore not the program's;
 * NULL: there is none.
 */
typedef void qmpi_closure_user(void *data, struct qmpi_closure *closure);
void qmpi_closure_use(const char *path, qmpi_closure_user *use, void *data);

/* The object that answers to a DT_NEEDED name, or has this path; -1: none. */
int qmpi_closure_find(const struct qmpi_closure *closure, const char *name);

/* The object that is loaded at this address; -1: none. */
int qmpi_closure_at(const struct qmpi_closure *closure, ElfW(Addr) base);

/*
 * What the object `first` reaches, itself first, each as the loader would search it (breadth
 * first), in an array that the caller frees. The way ends at MPI's libraries, other tools, and
 * those of which a process has one.
 */
int *qmpi_closure_visit(struct qmpi_closure *closure, int first, int *count);

/* Of these the object itself and what is private to it and in no layer yet; to be freed, too. */
struct qmpi_elf_loaded *qmpi_closure_members(struct qmpi_closure *closure, int first, int *count);

/* The same of a tool that is loaded; nobody may unload it. */
struct qmpi_elf_loaded *qmpi_closure_of(const struct qmpi_elf_loaded *object, int *count);

/* Whether an object belongs to whoever reaches it, and not to the program as well. */
bool qmpi_closure_is_private(const struct qmpi_closure_object *object);

#endif
