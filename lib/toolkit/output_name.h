/* SPDX-License-Identifier: MIT */
/* Names of the bundled tools' output files, in the same form for all of them. */
#ifndef QMPI_TOOLKIT_OUTPUT_NAME_H
#define QMPI_TOOLKIT_OUTPUT_NAME_H

#include <stdbool.h>

/*
 * To be called in `init`: %p is this process from now on, also in a copy of it that writes for it.
 */
void tool_file_name_start(void);

/*
 * The file that `pattern` names: %r is the rank, %p the process id, %t the tool_id, %h the host, %%
 * a percent sign. NULL: it holds another %x or ends in %. The caller frees it.
 */
char *tool_file_name(const char *pattern, int tool_id, int rank);

/* Whether files of two processes named by `pattern` differ. */
bool tool_file_name_is_per_process(const char *pattern);

/* Whether a path is that of a device, a FIFO or the like: it is used as it is, and by any number of
 * layers and ranks at once. */
bool tool_file_name_is_special(const char *path);

#endif
