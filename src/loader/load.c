/* SPDX-License-Identifier: MIT */
/* See load.h. */
#define _GNU_SOURCE
#include "loader/load.h"

#include "elf/elf.h"
#include "process/process.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

static char *explain_nothing_registered(const struct qmpi_layer *layer)
{
    const struct qmpi_tool *taken = qmpi_registration_refused();
    if (taken)
        return qmpi_message(
            "%s registers a tool '%s', but %s has already registered a tool of this name\n"
            "hint: list only one of the two",
            layer->path, taken->name, taken->path);
    return qmpi_message("%s registers no tool when it is loaded\n"
                        "hint: call QMPI_Register_tool_name from a constructor of the library",
                        layer->path);
}

/* Which of the tools that a library announced an entry means. */
static char *choose(struct qmpi_layer *layer, struct qmpi_tool *only, int count)
{
    struct qmpi_tool *named = qmpi_registration_find(layer->entry->name);
    if (count == 0)
        return explain_nothing_registered(layer);
    layer->tool = count == 1 ? only : named;
    if (layer->tool)
        return NULL;
    char *registered = qmpi_registration_list();
    char *problem = qmpi_message("%s registers %d tools\n"
                                 "hint: preload it, and give the name of the tool in QMPI_TOOLS; "
                                 "the registered tools are %s",
                                 layer->path, count, registered);
    free(registered);
    return problem;
}

char *qmpi_load_native(struct qmpi_layer *layer, bool passed_by)
{
    static int loads;
    if (!layer->tool) {
        qmpi_registration_begin_load(++loads);
        /* Where the MPI library comes before us, its own QMPI_ functions must not be the tool's.
         * Else not: what the program copied of the library's data the tool must find there. */
        const bool defines_register = qmpi_base_symbol("QMPI_Register_tool_name") != NULL;
        const int deep = defines_register && passed_by ? RTLD_DEEPBIND : 0;
        void *handle = dlopen(layer->path, RTLD_NOW | RTLD_LOCAL | deep);
        if (!handle)
            return qmpi_loadable_explain(layer->path, dlerror(),
                                         "install its dependencies, or link it with them");
        struct link_map *map = NULL;
        dlinfo(handle, RTLD_DI_LINKMAP, &map);
        int count;
        struct qmpi_tool *only = qmpi_registration_of_library(map, loads, &count);
        char *problem = choose(layer, only, count);
        if (problem)
            return problem;
    }
    layer->name = layer->tool->name;
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d: tool %s from %s", layer->tool_id, layer->name,
               layer->tool->path);
    return NULL;
}
