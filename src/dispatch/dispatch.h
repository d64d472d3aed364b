/* SPDX-License-Identifier: MIT */
/* Chains, nodes and the dispatch table. Assembly code includes dispatch/arch/entry.h instead. */
#ifndef QMPI_DISPATCH_DISPATCH_H
#define QMPI_DISPATCH_DISPATCH_H

#include "dispatch/chain.h"
#include "dispatch/node.h"

#endif
