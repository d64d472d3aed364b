/* SPDX-License-Identifier: MIT */
/* Messages, memory, texts, values of options, files, locks, call stacks and processes. */
#ifndef QMPI_UTIL_UTIL_H
#define QMPI_UTIL_UTIL_H

#include "util/arch/arithmetic.h"
#include "util/barrier.h"
#include "util/call_stack.h"
#include "util/cleanup.h"
#include "util/directory.h"
#include "util/launcher.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/message.h"
#include "util/next_symbol.h"
#include "util/output.h"
#include "util/spawn.h"
#include "util/start.h"
#include "util/table.h"
#include "util/text.h"
#include "util/value.h"

#endif
