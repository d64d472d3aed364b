/* SPDX-License-Identifier: MIT */
/*
 * Publishes variables, categories and enumerations of layers and of the dispatcher: the calls of
 * <qmpi/mpit.h>. In names, a layer has a label: `TOOL`, `TOOL#2`, …
 */
#ifndef QMPI_MPIT_PUBLISH_H
#define QMPI_MPIT_PUBLISH_H

#include "mpit/index.h"

#include <stddef.h>

/*
 * Returns the label of a layer; NULL: no such layer, or it is left out of the stack. The tool of
 * the layer must be known. To find the number in `TOOL#2`, layers above that are not loaded yet are
 * recognized by the paths of their libraries. The string exists for the whole run.
 */
const char *qmpi_mpit_label(int tool_id);

/* Removes the label of a layer that is left out of the stack. */
void qmpi_mpit_label_forget(int tool_id);

/*
 * Sets the names of an item and adds it to its index space (index.h): under its layer, or for
 * tool_id 0 directly under `qmpi`. With `bare`, the full name is `name` itself if that is not
 * taken. Otherwise, it is `qmpi.LABEL.NAME`, or `qmpi.NAME` for tool_id 0. `index`: as in
 * <qmpi/mpit.h>. Returns false if the full name is taken or no index is left; the caller then still
 * owns the item.
 */
bool qmpi_mpit_publish(struct qmpi_mpit_item *item, const char *name, const char *description,
                       bool bare, int *index);

/* Whether a NAME is valid according to <qmpi/mpit.h>. */
bool qmpi_mpit_is_name(const char *name);

/*
 * Returns the category for an item of a layer: the category NAME or, for NULL, the main category of
 * the layer, which is created if necessary. For tool_id 0, the main category is `qmpi`. Returns
 * NULL if there is no such layer or category.
 */
struct qmpi_mpit_category *qmpi_mpit_category_for(int tool_id, const char *name);

/* Sets the function that publishes items in the main category of each layer, when this category is
 * created. Must be called before the other functions of this header.
 */
void qmpi_mpit_when_layer_appears(void (*publish)(int tool_id,
                                                  struct qmpi_mpit_category *category));

/* Creates a category that is not published yet. */
struct qmpi_mpit_category *qmpi_mpit_new_category(int tool_id);

/* Creates a control variable that is not published yet. */
struct qmpi_mpit_variable *qmpi_mpit_new_cvar(int tool_id, const QMPIX_Cvar *cvar);

#endif
