/* SPDX-License-Identifier: MIT */
/* The files that are installed in the folder of a tool: programs that it starts, libraries that it
 * opens. */
#ifndef QMPI_TOOLKIT_COMPANION_FILE_H
#define QMPI_TOOLKIT_COMPANION_FILE_H

/* Returns the path of file `name` in the folder of the tool that is linked with this code; the
 * caller frees it. NULL: memory is exhausted, or the folder is gone. */
char *tool_companion_file(const char *name);

#endif
