/* SPDX-License-Identifier: MIT */
/*
 * The files that a layer saw opened, by the names that they were opened under. A name has a number,
 * under which each thread notes the calls on it; a handle leads to its name's number.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_FILES_H
#define QMPI_TOOL_PROFILE_RECORD_FILES_H

#include "record/tables.h"

#include <qmpi/qmpi.h>

struct layer;

bool files_make(struct files *files);

/* MPI_File_open succeeded. `counted`: profiling is on. */
void files_open(struct layer *layer, MPI_File handle, const char *name, bool counted);

/* The number of an open file; -1: not known. Without a lock. */
static inline int files_find(const struct files *files, MPI_File file)
{
    return handles_find(&files->handles, HANDLE_WORD(file));
}

/* MPI_File_close is about to give the handle back: what its number was; -1: not known. */
int files_begin_close(struct layer *layer, MPI_File file);

/* What all threads noted under a number. */
void files_sum(const struct layer *layer, int number, struct stats *sum);

#endif
