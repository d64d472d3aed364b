/* SPDX-License-Identifier: MIT */
/* The native half of the tool `cross`: one source file cannot use both the interface of qmpi and
 * that of MPICH's variant of QMPI. */
#include "every_entry.h"

void cross_register_native(int tool_id);

void cross_register_native(int tool_id)
{
    for (int i = 0; i < every_entry_count; i++)
        QMPI_Register_tool_function(tool_id, every_entry[i].number, every_entry[i].layer);
}
