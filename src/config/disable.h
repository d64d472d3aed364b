/* SPDX-License-Identifier: MIT */
/* QMPI_DISABLE: the layers that the user leaves out. */
#ifndef QMPI_CONFIG_DISABLE_H
#define QMPI_CONFIG_DISABLE_H

#include "config/tool_list.h"

#include <stdbool.h>

/* Whether the variable is set and not empty. */
bool qmpi_disable_is_given(void);

/*
 * Whether a pattern in QMPI_DISABLE matches an entry of a stack: its name, its path, the last part
 * of its path, or the named stack that it is from. ~site~ matches all entries of the site's files,
 * ~user~ all others.
 */
bool qmpi_disable_matches(const struct qmpi_entry *entry);

#endif
