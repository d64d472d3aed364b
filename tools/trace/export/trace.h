/* SPDX-License-Identifier: MIT */
/* Includes the headers for writing, reading, analyzing and exporting traces, for the command, the
 * tool and tests. */
#ifndef QMPI_TRACE_EXPORT_TRACE_H
#define QMPI_TRACE_EXPORT_TRACE_H

#include "tools/trace/analysis/check.h"
#include "tools/trace/analysis/pairs.h"
#include "tools/trace/analysis/view.h"
#include "tools/trace/export/export.h"
#include "tools/trace/file/cursor.h"
#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/map.h"
#include "tools/trace/file/name.h"
#include "tools/trace/file/otf2.h"
#include "tools/trace/file/reader.h"
#include "util/util.h"

#endif
