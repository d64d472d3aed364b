/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files, for libdwfl: by build-id below the debug folders, and by .gnu_debuglink or
 * .gnu_debugaltlink beside the module, in .debug beside it and below the debug folders. What
 * libdwfl's own search does, but for its last step: asking a debuginfod server.
 */
#ifndef QMPI_SYMBOLS_DEBUGLINK_H
#define QMPI_SYMBOLS_DEBUGLINK_H

#include <elfutils/libdwfl.h>

/* For Dwfl_Callbacks.find_debuginfo; see libdwfl.h. */
int profile_debug_file_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                            const char *file, const char *link, GElf_Word checksum, char **found);

#endif
