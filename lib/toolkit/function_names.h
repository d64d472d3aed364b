/* SPDX-License-Identifier: MIT */
/* Lists of functions in the options of a tool: see util/function_list.h. */
#ifndef QMPI_TOOLKIT_FUNCTION_NAMES_H
#define QMPI_TOOLKIT_FUNCTION_NAMES_H

#include <qmpi/qmpi.h>

/* As qmpi_function_list_read, for all functions of this MPI. */
char *tool_functions_read(const char *list, unsigned char listed[MPI_LAST_FUNC]);

#endif
