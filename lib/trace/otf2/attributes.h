/* SPDX-License-Identifier: MIT */
/* The attributes of calls in an archive: where they were called from, if that was recorded. */
#ifndef QMPI_TRACE_OTF2_ATTRIBUTES_H
#define QMPI_TRACE_OTF2_ATTRIBUTES_H

enum { ARCHIVE_ATTRIBUTE_SITE, ARCHIVE_ATTRIBUTE_CONTEXT };

#endif
