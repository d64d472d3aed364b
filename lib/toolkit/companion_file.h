/* SPDX-License-Identifier: MIT */
/* The files that are installed with a tool: programs that it starts, libraries that it opens. */
#ifndef QMPI_TOOLKIT_COMPANION_FILE_H
#define QMPI_TOOLKIT_COMPANION_FILE_H

/* Returns the path of file `name` in the folder of the tool that is linked with this code, or, for
 * tools that are compiled for the standard ABI, in the folder of the other tools of this build; the
 * caller frees it. NULL: memory is exhausted, or the folder is gone. */
char *tool_companion_file(const char *name);

#endif
