/* SPDX-License-Identifier: MIT */
/* See announce.h. */
#include "announce.h"

#include <qmpi/qmpi.h>

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name(BENCH_TOOL_NAME, bench_init);
}
