/* SPDX-License-Identifier: MIT */
/* Messages, locks, memory, processes, unwinding and the values of options, for all folders. */
#ifndef QMPI_UTIL_UTIL_H
#define QMPI_UTIL_UTIL_H

#include "util/arena.h"
#include "util/call_stack.h"
#include "util/directory.h"
#include "util/function_list.h"
#include "util/lock.h"
#include "util/message.h"
#include "util/next_symbol.h"
#include "util/number_set.h"
#include "util/patterns.h"
#include "util/permanent.h"
#include "util/spawn.h"
#include "util/suggest.h"
#include "util/unwind.h"

#endif
