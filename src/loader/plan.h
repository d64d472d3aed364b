/* SPDX-License-Identifier: MIT */
/*
 * The planned layers: the entries of QMPI_TOOLS, found and inspected, and the PMPI tools in the
 * process that are not listed. Nothing is loaded yet.
 */
#ifndef QMPI_LOADER_PLAN_H
#define QMPI_LOADER_PLAN_H

#include "config/config.h"
#include "loader/inspect.h"
#include "process/process.h"
#include "registry/registry.h"

struct qmpi_plan {
    const struct qmpi_entry *entry;
    enum qmpi_kind kind;
    struct qmpi_tool *tool;                /* registered already; NULL: load `path` */
    struct qmpi_preloaded_tool *preloaded; /* loaded already; NULL: load `path` */
    char *path;
};

/*
 * Plans the stack, from the application down. Entries that cannot be used are reported, all of
 * them, and left out, or the process ends. The entries of `list` must exist for the whole run.
 */
struct qmpi_plan *qmpi_plan_make(const struct qmpi_tool_list *list, int *count);

#endif
