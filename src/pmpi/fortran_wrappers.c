/* SPDX-License-Identifier: MIT */
/* See fortran_wrappers.h. */
#include "pmpi/fortran_wrappers.h"

#include "config/config.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "process/process.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

static bool option_is(const struct qmpi_layer *layer, const char *expected)
{
    const char *value = layer->entry->reserved[QMPI_RESERVED_FORTRAN];
    return value && !strcmp(value, expected);
}

bool qmpi_fortran_wrappers_excluded(const struct qmpi_layer *layer)
{
    return option_is(layer, "no");
}

/* Marks in `wrapped` the functions for which an object defines a Fortran procedure, and in
 * `by_binding` those whose procedure in the profiling interface it calls. Returns the number of
 * defined procedures. */
static int read_object(const struct qmpi_elf_loaded *object, bool *wrapped, bool *by_binding)
{
    const size_t count = qmpi_elf_symbol_count(&object->image);
    int procedures = 0;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &object->image.symbols[i];
        const char *name = qmpi_elf_string(&object->image, symbol->st_name);
        const bool defined = qmpi_elf_defines(symbol);
        const int number = defined ? qmpi_binding_function(name) : qmpi_binding_pmpi_function(name);
        if (number < 0)
            continue;
        procedures += defined;
        if (defined)
            wrapped[number] = true;
        else
            by_binding[number] = true;
    }
    return procedures;
}

static bool is_init(int number)
{
    return number == MPI_INIT_T || number == MPI_INIT_THREAD_T;
}

struct qmpi_fortran_wrappers qmpi_fortran_wrappers_read(const struct qmpi_layer_group *group)
{
    struct qmpi_fortran_wrappers wrappers = {.any = false};
    bool wrapped[QMPI_FUNCTION_COUNT] = {false}, by_binding[QMPI_FUNCTION_COUNT] = {false};
    bool without_init = false;
    for (int i = 0; i < group->count; i++)
        wrappers.procedures += read_object(&group->objects[i], wrapped, by_binding);
    wrappers.any = wrappers.procedures && !qmpi_fortran_wrappers_excluded(group->layer);
    if (!wrappers.any || option_is(group->layer, "yes"))
        return wrappers;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!wrapped[number] || !qmpi_layer_group_find(group, qmpi_names[number].name))
            wrapped[number] = false; /* only functions with wrappers in both languages matter */
        without_init |= is_init(number) && wrapped[number] && by_binding[number];
    }
    /* If the wrapper of MPI_Init is not used, the others are not used, either: data that it stores
     * for them would be missing. */
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        wrappers.unused[number] = wrapped[number] && (by_binding[number] || without_init);
        wrappers.in_c_alone += wrappers.unused[number];
    }
    return wrappers;
}

char *qmpi_fortran_wrappers_describe(const struct qmpi_layer *layer, char *text)
{
    const struct qmpi_fortran_wrappers wrappers = qmpi_fortran_wrappers_read(layer->group);
    char *longer;
    if (!wrappers.procedures)
        return text;
    if (!wrappers.any)
        longer = qmpi_format("%s; Fortran wrappers: not used (@fortran=no)", text);
    else if (wrappers.in_c_alone)
        longer = qmpi_format("%s; Fortran wrappers: not used for %d function%s, because they call "
                             "PMPI in Fortran, which leads to the wrappers in C",
                             text, wrappers.in_c_alone, wrappers.in_c_alone == 1 ? "" : "s");
    else
        longer = qmpi_format("%s; Fortran wrappers: used if the layer is on top", text);
    free(text);
    return longer;
}

static bool has_functions(const struct qmpi_layer *layer)
{
    bool any = false;
    for (int number = 0; number < QMPI_FUNCTION_COUNT && !any; number++)
        any = layer->functions[number] != NULL;
    return any;
}

char *qmpi_fortran_wrappers_check(const struct qmpi_layer *layer)
{
    bool loaded = layer->again; /* by the program: the loop excludes layers */
    if (has_functions(layer) || !qmpi_fortran_wrappers_read(layer->group).procedures)
        return NULL;
    for (const struct qmpi_layer_group *group = qmpi_layer_group_first(); group;
         group = group->next)
        loaded = loaded && (group->layer == layer || !group->layer->path ||
                            !qmpi_elf_file_same(group->layer->path, layer->path));
    if (qmpi_fortran_wrappers_excluded(layer))
        return qmpi_message("%s wraps procedures of MPI in Fortran alone, so that it sees no calls "
                            "with @fortran=no\nhint: remove this option",
                            layer->path);
    if (loaded)
        return qmpi_message("%s wraps procedures of MPI in Fortran alone, and is in the process "
                            "already: the program calls that library directly\n"
                            "hint: do not preload it, or remove it from the stack",
                            layer->path);
    if (layer->tool_id > 1 && qmpi_launcher_reports())
        qmpi_printf("layer %d (%s) wraps procedures of MPI in Fortran alone: it sees no calls, "
                    "because the program calls Fortran wrappers of the top layer only\n"
                    "  hint: list this tool first",
                    layer->tool_id, layer->name);
    return NULL;
}
