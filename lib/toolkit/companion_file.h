/* SPDX-License-Identifier: MIT */
/* The files that are installed with a tool: programs that it starts, libraries that it opens. They
 * are in the folder of the tool; or, as tools for the standard ABI are in another one, in that of
 * the other tools, beside it. */
#ifndef QMPI_TOOLKIT_COMPANION_FILE_H
#define QMPI_TOOLKIT_COMPANION_FILE_H

/* Returns the path of file `name` of the tool that is linked with this code; the caller frees it.
 * NULL: memory is exhausted, or the folder is gone. */
char *tool_companion_file(const char *name);

#endif
