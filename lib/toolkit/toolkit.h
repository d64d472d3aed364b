/* SPDX-License-Identifier: MIT */
/* What bundled tools need. */
#ifndef QMPI_TOOLKIT_TOOLKIT_H
#define QMPI_TOOLKIT_TOOLKIT_H

/* During calls. */
#include "toolkit/arch/add.h"
#include "toolkit/arguments.h"
#include "toolkit/completions.h"
#include "toolkit/flights.h"
#include "toolkit/handle_map.h"
#include "toolkit/hash_table.h"
#include "toolkit/leavings.h"
#include "toolkit/next.h"
#include "toolkit/pcontrol_text.h"
#include "toolkit/pending.h"
#include "toolkit/private_comm.h"
#include "toolkit/sessions.h"
#include "toolkit/thread_state.h"
#include "toolkit/ticks.h"

/* Options, texts and files. */
#include "toolkit/companion_file.h"
#include "toolkit/function_names.h"
#include "toolkit/locale_numbers.h"
#include "toolkit/options.h"
#include "toolkit/output_name.h"
#include "toolkit/safe_read.h"
#include "toolkit/signals.h"

#endif
