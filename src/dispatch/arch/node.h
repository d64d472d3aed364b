/* SPDX-License-Identifier: MIT */
/* Where the members of a QMPIX_Node lie, for assembly code; dispatch/chain.c checks it. */
#ifndef QMPI_DISPATCH_ARCH_NODE_H
#define QMPI_DISPATCH_ARCH_NODE_H

#define QMPI_NODE_FUNCTION 0
#define QMPI_NODE_TOOL_ID 16

#endif
