/* SPDX-License-Identifier: MIT */
/* Traces: events and definitions, the files of processes, and what is made of them. */
#ifndef QMPI_TRACE_TRACE_H
#define QMPI_TRACE_TRACE_H

#include "trace/definitions.h"
#include "trace/encode.h"
#include "trace/event.h"
#include "trace/otf2.h"
#include "trace/profile.h"
#include "trace/reader.h"

#endif
