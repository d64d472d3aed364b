/* SPDX-License-Identifier: MIT */
/* The library that writes archives in OTF2: see trace/otf2.h. It needs libotf2, and is therefore
 * opened only for that. */
#include "trace/otf2.h"

#ifdef TRACE_HAVE_OTF2
#include "trace/otf2/write.h"
#endif

#include <qmpi/qmpi.h>

#include <stddef.h>

QMPI_API trace_otf2_finder trace_otf2_find;

const struct trace_otf2 *trace_otf2_find(void)
{
#ifdef TRACE_HAVE_OTF2
    static const struct trace_otf2 functions = {archive_write, archive_write_together};
    return &functions;
#else
    return NULL;
#endif
}
