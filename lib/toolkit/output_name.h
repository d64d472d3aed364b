/* SPDX-License-Identifier: MIT */
/* Names of output files, with the same placeholders in all bundled tools. */
#ifndef QMPI_TOOLKIT_OUTPUT_NAME_H
#define QMPI_TOOLKIT_OUTPUT_NAME_H

#include <stdbool.h>

/*
 * Called in `init`: %p is this process from now on, also in a forked child that writes for it.
 */
void tool_file_name_start(void);

/*
 * Returns the file name for `pattern`: %r is the rank, %p the process id, %t the tool_id, %h the
 * host, %% a percent sign. The caller frees it. NULL: the pattern contains another %x or ends with
 * %.
 */
char *tool_file_name(const char *pattern, int tool_id, int rank);

/* Whether the files of two processes have different names. */
bool tool_file_name_is_per_process(const char *pattern);

/* Whether a path is that of a device, a FIFO or similar file, which any number of layers and ranks
 * may use at the same time. */
bool tool_file_name_is_special(const char *path);

#endif
