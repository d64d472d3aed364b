/* SPDX-License-Identifier: MIT */
/* The labels of layers in the names of variables: `TOOL`, `TOOL#2`, … */
#ifndef QMPI_MPIT_LABELS_H
#define QMPI_MPIT_LABELS_H

/*
 * Returns the label of a layer; NULL: no such layer. The tool of the layer must be known; for the
 * layers above, the plan tells whether they have the same tool. The string exists for the whole
 * run.
 */
const char *qmpi_mpit_label(int tool_id);

/* Removes the label of a layer that is left out of the stack. */
void qmpi_mpit_label_forget(int tool_id);

#endif
