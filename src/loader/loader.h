/* SPDX-License-Identifier: MIT */
/* From an entry of the list to a loaded tool, or to a message. */
#ifndef QMPI_LOADER_LOADER_H
#define QMPI_LOADER_LOADER_H

#include "loader/abi_name.h"
#include "loader/find.h"
#include "loader/inspect.h"
#include "loader/load.h"
#include "loader/plan.h"
#include "loader/report.h"
#include "loader/signal_guard.h"

#endif
