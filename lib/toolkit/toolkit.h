/* SPDX-License-Identifier: MIT */
/* Includes all headers of lib/toolkit, the code that the bundled tools share. */
#ifndef QMPI_TOOLKIT_TOOLKIT_H
#define QMPI_TOOLKIT_TOOLKIT_H

/* These are used during calls. */
#include "toolkit/arch/add.h"
#include "toolkit/arguments.h"
#include "toolkit/flights.h"
#include "toolkit/handles.h"
#include "toolkit/next.h"
#include "toolkit/pending.h"
#include "toolkit/safe_read.h"
#include "toolkit/table.h"
#include "toolkit/thread_state.h"
#include "toolkit/ticks.h"
#include "toolkit/world.h"

/* These are for options, texts, files, and the end of the process. */
#include "toolkit/companion_file.h"
#include "toolkit/end.h"
#include "toolkit/options.h"
#include "toolkit/output.h"
#include "toolkit/run.h"

#endif
