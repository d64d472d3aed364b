/* SPDX-License-Identifier: MIT */
/*
 * Libraries that are being opened for a PMPI layer: the library of the tool, or one that the tool
 * opens. Their constructors run before the references of the objects can be changed. Calls that
 * they make meanwhile, in any thread, are assigned to the layer if the calling object is in the
 * closure of the library. Objects that another thread opens at the same time are not affected.
 */
#ifndef QMPI_PMPI_OPENING_H
#define QMPI_PMPI_OPENING_H

#include "registry/registry.h"

struct qmpi_opening;

/* Called before dlopen of `path`, which is also the name of the library in the loader's list. */
struct qmpi_opening *qmpi_opening_begin(struct qmpi_layer *layer, const char *path);

/*
 * Called after dlopen with its result. Returns the group of the objects that now belong to the
 * layer; NULL: no new ones.
 */
struct qmpi_group *qmpi_opening_end(struct qmpi_opening *opening, void *handle);

/* The same for a tool that was loaded before: returns the group of the tool and its private
 * dependencies. */
struct qmpi_group *qmpi_opening_adopt(struct qmpi_layer *layer,
                                      const struct qmpi_elf_loaded *object);

/*
 * Returns the group with an object that contains `address`, also of a library that is being opened;
 * NULL: none. Any thread.
 */
struct qmpi_group *qmpi_opening_group_of(const void *address);

#endif
