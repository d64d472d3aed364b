/* SPDX-License-Identifier: MIT */
/*
 * Libraries that are being opened for a hosted layer: the tool's own, or one that the tool opens.
 * Constructors run before the objects can be told their references; what they ask meanwhile, in
 * whichever thread, is answered for the layer if they are in the library's closure. What another
 * thread opens at the same time is not.
 */
#ifndef QMPI_PMPI_OPENING_H
#define QMPI_PMPI_OPENING_H

#include "registry/objects.h"

struct qmpi_opening;

/* Before dlopen of `path`, which the library is known by to the loader as well. */
struct qmpi_opening *qmpi_opening_begin(struct qmpi_layer *layer, const char *path);

/*
 * After it: `handle` is its result. Returns the group of what belongs to the layer now; NULL: there
 * is nothing new.
 */
struct qmpi_group *qmpi_opening_end(struct qmpi_opening *opening, void *handle);

/* The same for a tool that was there before: the group of it and what came with it. */
struct qmpi_group *qmpi_opening_adopt(struct qmpi_layer *layer,
                                      const struct qmpi_elf_loaded *object);

/*
 * The group with an object that holds `address`, also of a library that is being opened; NULL: the
 * address is nobody's. Any thread.
 */
struct qmpi_group *qmpi_opening_group_of(const void *address);

#endif
