/* SPDX-License-Identifier: MIT */
/* Traces: events and definitions, the files of processes, and what is made of them. */
#ifndef QMPI_TRACE_TRACE_H
#define QMPI_TRACE_TRACE_H

/* In files. */
#include "trace/definitions.h"
#include "trace/encode.h"
#include "trace/event.h"
#include "trace/otf2.h"
#include "trace/profile.h"
#include "trace/reader.h"

/* What is made of them. */
#include "trace/check.h"
#include "trace/convert.h"
#include "trace/csv.h"
#include "trace/export.h"
#include "trace/json.h"
#include "trace/pairs.h"
#include "trace/perfetto.h"
#include "trace/repair.h"
#include "trace/table.h"
#include "trace/view.h"

#endif
