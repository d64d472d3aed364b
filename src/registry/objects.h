/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects that make up one hosted layer: the tool's library and its private
 * dependencies; and in further groups of the layer each library that the tool opens itself, with
 * its own. From an address in one of them its layer is known: that is how a tool's dlsym and
 * getenv, which carry no context, learn for whom they answer. All stay loaded for the whole run.
 */
#ifndef QMPI_REGISTRY_OBJECTS_H
#define QMPI_REGISTRY_OBJECTS_H

#include "elf/loaded.h"

#include <stdbool.h>

struct qmpi_layer;

struct qmpi_group {
    struct qmpi_layer *layer;
    struct qmpi_elf_loaded *objects; /* as the loader searches them: the tool's library first */
    int count;
    struct qmpi_group *next;
};

/* Makes a group of these objects, that which is opened first, and publishes it. Any thread. */
struct qmpi_group *qmpi_group_make(struct qmpi_layer *layer, const struct qmpi_elf_loaded *objects,
                                   int count);

/* The group with an object that holds `address`; NULL: none. Any thread, at any time. */
struct qmpi_group *qmpi_group_of(const void *address);

/* The address of a function that the group defines itself; NULL: it does not. */
void *qmpi_group_find(const struct qmpi_group *group, const char *name);

/* Whether an object is the first in some group: a tool's library itself, or one that it opened. */
bool qmpi_group_is_redirected(const struct qmpi_elf_loaded *object);

/* A NULL-terminated walk over all groups. */
struct qmpi_group *qmpi_group_first(void);

#endif
