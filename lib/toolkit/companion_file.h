/* SPDX-License-Identifier: MIT */
/*
 * Finds files that are installed with a tool, such as programs that it starts and libraries that it
 * opens. They are in the directory of the tool. For tools for the standard ABI, they may be in the
 * directory of the tools of the loaded libqmpi, which is beside that of the tool.
 */
#ifndef QMPI_TOOLKIT_COMPANION_FILE_H
#define QMPI_TOOLKIT_COMPANION_FILE_H

/* Returns the path of file `name` of the tool that is linked with this code. The file need not
 * exist. The caller frees the path. Returns NULL if the path of the tool's library cannot be found,
 * for instance because the library was removed. Calls qmpi_memory_exhausted if memory is exhausted.
 */
char *tool_companion_file(const char *name);

#endif
