/* SPDX-License-Identifier: MIT */
/* What mpit prints of a catalogue. */
#ifndef QMPI_TOOL_MPIT_LIST_H
#define QMPI_TOOL_MPIT_LIST_H

#include "catalogue.h"

#include <stdio.h>

/* What is listed, and of whom. */
struct list {
    const struct catalogue *catalogue;
    const char *patterns; /* patterns of names; NULL: all */
    const char *moment;   /* "init" or "finalize" */
    int tool_id, rank;
};

/* A table for people: variables with their values, and which category has how much of them. */
void list_table(FILE *stream, const struct list *list);

/* All that there is to know, schema qmpi-mpit/1. False: it cannot be written. */
bool list_json(FILE *stream, const struct list *list);

#endif
