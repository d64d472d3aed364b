/* SPDX-License-Identifier: MIT */
/* Opens the library that writes a page in HTML. */
#ifndef QMPI_TOOL_PROFILE_SAVE_PAGE_H
#define QMPI_TOOL_PROFILE_SAVE_PAGE_H

#include "profile/profile.h"

/* Returns the writer. NULL: *problem says why and gives a hint; the caller frees it (NULL: memory
 * is exhausted). May be called again; not by several threads at once. */
profile_html_writer *page_find_writer(char **problem);

#endif
