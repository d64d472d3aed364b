/* SPDX-License-Identifier: MIT */
/* The lines `[above]`, `[below]` and `[stack NAME]` of a configuration file. */
#ifndef QMPI_CONFIG_SECTION_HEADER_H
#define QMPI_CONFIG_SECTION_HEADER_H

#include <stdbool.h>

/*
 * Reads a line that starts with a bracket. Sets *name to "above", "below" or the name of the stack,
 * which the caller frees. Returns NULL, or a message with a hint, which the caller frees; *name is
 * then NULL.
 */
char *qmpi_section_header_read(const char *text, char **name, bool *stack);

#endif
