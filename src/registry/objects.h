/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects of a PMPI layer. One group contains the library of the tool and its private
 * dependencies; each library that the tool opens forms a further group with its private
 * dependencies. An address in an object identifies its layer: in this way, dlsym and getenv, which
 * have no context argument, know for which layer they are called. All objects stay loaded for the
 * whole run.
 */
#ifndef QMPI_REGISTRY_OBJECTS_H
#define QMPI_REGISTRY_OBJECTS_H

#include "elf/elf.h"

#include <stdbool.h>

struct qmpi_layer;

struct qmpi_group {
    struct qmpi_layer *layer;
    struct qmpi_elf_loaded
        *objects; /* in the search order of the loader: the library of the tool first */
    int count;
    char *shares; /* the libraries that it shares with the layers below, as text; NULL: none */
    struct qmpi_group *next;
};

/* Creates a group of these objects, with the opened one first, and publishes it. The group owns
 * `shares`. Any thread. */
struct qmpi_group *qmpi_group_make(struct qmpi_layer *layer, const struct qmpi_elf_loaded *objects,
                                   int count, char *shares);

/* Returns the group with an object that contains `address`; NULL: none. Any thread, at any time. */
struct qmpi_group *qmpi_group_of(const void *address);

/* Returns the address of a function that the group defines; NULL: not defined. */
void *qmpi_group_find(const struct qmpi_group *group, const char *name);

/* Whether an object is the first of a group: the library of a tool, or a library that a tool
 * opened. */
bool qmpi_group_is_redirected(const struct qmpi_elf_loaded *object);

/* A NULL-terminated walk over all groups. */
struct qmpi_group *qmpi_group_first(void);

#endif
