/* SPDX-License-Identifier: MIT */
/* Functions for the calls of <qmpi/mpit.h>, and for the variables of the dispatcher. */
#ifndef QMPI_MPIT_PUBLISH_H
#define QMPI_MPIT_PUBLISH_H

#include "mpit/index.h"

#include <stddef.h>

/*
 * Sets the names of an item and adds it to the tables: under its layer, or for tool_id 0 directly
 * under `qmpi`. `index`: as in <qmpi/mpit.h>. Returns false if the name is taken; the caller then
 * still owns the item.
 */
bool qmpi_mpit_publish(struct qmpi_mpit_item *item, const char *name, const char *description,
                       bool bare, int *index);

/* Whether a NAME is valid according to <qmpi/mpit.h>. */
bool qmpi_mpit_is_name(const char *name);

/*
 * Returns the category for an item of a layer: the category NAME or, for NULL, the main category of
 * the layer, which is created if necessary. NULL: no such layer or category.
 */
struct qmpi_mpit_category *qmpi_mpit_category_for(int tool_id, const char *name);

/* Sets the function that publishes items in each new category of a layer. Called before all others.
 */
void qmpi_mpit_when_layer_appears(void (*publish)(int tool_id,
                                                  struct qmpi_mpit_category *category));

/* Creates a category that is not published yet. */
struct qmpi_mpit_category *qmpi_mpit_new_category(int tool_id);

#endif
