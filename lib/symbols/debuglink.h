/* SPDX-License-Identifier: MIT */
/*
 * Finds separate debug files for libdwfl: by build-id below the debug directories; by
 * .gnu_debuglink or .gnu_debugaltlink in the directory of the module, in its subdirectory .debug,
 * and below the debug directories. This is the search of libdwfl without its last step, the query
 * of a debuginfod server.
 */
#ifndef QMPI_SYMBOLS_DEBUGLINK_H
#define QMPI_SYMBOLS_DEBUGLINK_H

#include <elfutils/libdwfl.h>

/* For Dwfl_Callbacks.find_debuginfo; see libdwfl.h. */
int profile_debug_file_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                            const char *file, const char *link, GElf_Word checksum, char **found);

#endif
