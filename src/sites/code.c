/* SPDX-License-Identifier: MIT */
/* See code.h. */
#define _GNU_SOURCE
#include "sites/code.h"

#include "redirect/redirect.h"
#include "registry/registry.h"
#include "sites/modules.h"

#include <gnu/lib-names.h>
#include <string.h>
#include <sys/auxv.h>

enum { START_SIZE = 64 /* bytes, more than _start has */ };

/* Before glibc 2.34 threads began in a library of their own. */
static bool is_c_library(const struct qmpi_module *module)
{
    const char *slash = strrchr(module->name, '/'), *name = slash ? slash + 1 : module->name;
    return !strcmp(name, LIBC_SO) || !strcmp(name, LIBPTHREAD_SO);
}

static bool is_layer(const struct qmpi_module *module)
{
    if (!*module->name) /* a tool may be part of the program */
        return false;
    for (int tool_id = 1; tool_id <= QMPIX_stack.layers; tool_id++) {
        const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
        if (layer && layer->tool && layer->tool->library == module->map)
            return true;
    }
    return false;
}

enum qmpi_code qmpi_code_find(uintptr_t address, bool *is_permanent)
{
    const struct qmpi_module *module = qmpi_module_find(address);
    *is_permanent = module && qmpi_module_is_open(module);
    if (qmpi_is_between((const void *)address))
        return QMPI_CODE_BETWEEN;
    if (address - getauxval(AT_ENTRY) < START_SIZE || (module && is_c_library(module)))
        return QMPI_CODE_START;
    return module && is_layer(module) ? QMPI_CODE_LAYER : QMPI_CODE_PROGRAM;
}
