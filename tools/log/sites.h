/* SPDX-License-Identifier: MIT */
/* Where in the program a call is. */
#ifndef QMPI_LOG_SITES_H
#define QMPI_LOG_SITES_H

/* "solve (heat.c:42)", "solve (app+0x1139)" or "app+0x1139"; it lives for the whole run. Looked up
 * when an address is first seen. Any thread. */
const char *sites_find(const void *caller);

#endif
