/* SPDX-License-Identifier: MIT */
/* What the calls of <qmpi/mpit.h> share, and the dispatcher's own publishing. */
#ifndef QMPI_MPIT_PUBLISH_H
#define QMPI_MPIT_PUBLISH_H

#include "mpit/index.h"

#include <stddef.h>

/*
 * Gives the item its names and puts it into the tables: under its layer, or with tool_id 0 directly
 * under `qmpi`. `index`: as in <qmpi/mpit.h>. False: its name is taken; the item is still the
 * caller's.
 */
bool qmpi_mpit_publish(struct qmpi_mpit_item *item, const char *name, const char *description,
                       bool bare, int *index);

/* Whether a NAME is as <qmpi/mpit.h> demands. */
bool qmpi_mpit_is_name(const char *name);

/*
 * The category in which a layer's item belongs: the one of this NAME, or for NULL the layer's own,
 * which is made if need be. NULL: there is no such layer or category.
 */
struct qmpi_mpit_category *qmpi_mpit_category_for(int tool_id, const char *name);

/* What is to be published in each layer's new category. Before all else. */
void qmpi_mpit_when_layer_appears(void (*publish)(int tool_id,
                                                  struct qmpi_mpit_category *category));

/* A new category that is not published yet. */
struct qmpi_mpit_category *qmpi_mpit_new_category(int tool_id);

#endif
