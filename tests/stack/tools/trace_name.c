/* SPDX-License-Identifier: MIT */
/* The name of a tool that is made of trace.c. */
extern const char trace_tool[];
const char trace_tool[] = TOOL;
