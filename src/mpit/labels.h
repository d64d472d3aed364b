/* SPDX-License-Identifier: MIT */
/* What the layers are called in the names of variables: `TOOL`, `TOOL#2`, … */
#ifndef QMPI_MPIT_LABELS_H
#define QMPI_MPIT_LABELS_H

/*
 * The layer's label; NULL: there is no such layer. Its own tool must be known; whether the layers
 * above it are of the same tool is seen from what was planned for them. The string lives for the
 * whole run.
 */
const char *qmpi_mpit_label(int tool_id);

/* The layer has no place in the stack after all: from now on it has no label. */
void qmpi_mpit_label_forget(int tool_id);

#endif
