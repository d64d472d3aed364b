/* SPDX-License-Identifier: MIT */
/* The name of a tool that is built from trace.c. */
extern const char trace_tool[];
const char trace_tool[] = TOOL;
