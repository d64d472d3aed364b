/* SPDX-License-Identifier: MIT */
/* Chains, nodes and the dispatch table. Assembly code includes dispatch/entry.h instead. */
#ifndef QMPI_DISPATCH_DISPATCH_H
#define QMPI_DISPATCH_DISPATCH_H

#include "dispatch/arch/frame.h"
#include "dispatch/chain.h"
#include "dispatch/mpich_convention.h"
#include "dispatch/stubs.h"

#endif
