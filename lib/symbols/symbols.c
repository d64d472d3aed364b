/* SPDX-License-Identifier: MIT */
/* See symbols.h. Each module is opened once, for all of its frames. */
#define _GNU_SOURCE
#include "symbols/symbols.h"

#include "symbols/debuglink.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_mangled(const char *name)
{
    return name && !strncmp(name, "_Z", 2);
}

/* The C++ runtime's own, where the program or this machine has one: nothing links it for that. */
static char *demangle(const char *name)
{
    typedef char *demangler(const char *name, char *buffer, size_t *length, int *status);
    static demangler *function;
    static bool sought;
    if (!is_mangled(name))
        return NULL;
    if (!sought) {
        sought = true;
        void *found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
        void *runtime = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (runtime)
            found = dlsym(runtime, "__cxa_demangle");
        memcpy(&function, &found, sizeof function);
    }
    int status = 0;
    char *demangled = function ? function(name, NULL, NULL, &status) : NULL;
    char *clone = demangled ? strstr(demangled, " [clone ") : NULL;
    if (clone) /* of no interest: what the compiler made of it */
        *clone = '\0';
    return demangled;
}

static void set_function(struct profile_frame *frame, const char *name)
{
    char *demangled = name ? demangle(name) : NULL;
    if (!demangled && name)
        demangled = strdup(name);
    if (demangled) {
        free(frame->function);
        frame->function = demangled;
    }
}

/* A symbol counts only where the address is inside it: the nearest one below may be anything. */
static const char *symbol_name(Dwfl_Module *module, Dwarf_Addr address)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    return name && offset < symbol.st_size ? name : NULL;
}

/* ---- Debug information ----------------------------------------------------------------------- */

/* The unit that holds an address; `bias` is what libdwfl adds to the addresses of the file. */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);
    if (unit)
        return unit;
    /* Compilers that write no table of addresses (clang): ask every unit. */
    while ((unit = dwfl_module_nextcu(module, unit, bias))) {
        if (dwarf_haspc(unit, address - *bias) > 0)
            return unit;
    }
    return NULL;
}

static bool is_function(Dwarf_Die *die)
{
    const int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_entry_point;
}

/*
 * The innermost function below `die` that holds an address, where dwarf_getscopes does not look:
 * Fortran's are members of modules, which have no addresses themselves, and those behind `contains`
 * are members of functions that have others.
 */
static bool find_member(Dwarf_Die *die, Dwarf_Addr address, Dwarf_Die *found)
{
    Dwarf_Die child;
    for (int more = dwarf_child(die, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        const bool here = dwarf_haspc(&child, address) > 0;
        if (!here && tag != DW_TAG_module && tag != DW_TAG_namespace && tag != DW_TAG_subprogram)
            continue;
        const bool deeper = find_member(&child, address, found);
        if (!deeper && here && is_function(&child))
            *found = child;
        if (deeper || (here && is_function(&child)))
            return true;
    }
    return false;
}

/* The innermost function, inlined or not. False: the unit tells none. */
static bool find_function(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *found)
{
    Dwarf_Die *scopes = NULL;
    const int count = dwarf_getscopes(unit, address, &scopes);
    int i = 0;
    while (i < count && !is_function(&scopes[i]))
        i++;
    if (i < count)
        *found = scopes[i];
    free(scopes);
    return i < count || find_member(unit, address, found);
}

/* C++ names are in the linkage name, with their types, or (lambdas) in the symbol only; those of
 * other languages are as the source has them. */
static const char *function_name(Dwarf_Die *function, const char *symbol)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!is_mangled(name) && dwarf_tag(function) == DW_TAG_subprogram)
        name = symbol;
    return is_mangled(name) ? name : dwarf_diename(function);
}

static void read_line(Dwarf_Die *unit, Dwarf_Addr address, struct profile_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    const char *source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    Dwarf_Attribute attribute;
    char *path = NULL;
    int number = 0;
    if (!source)
        return;
    const char *folder = *source == '/' || !dwarf_attr(unit, DW_AT_comp_dir, &attribute)
                             ? NULL
                             : dwarf_formstring(&attribute);
    if (folder) {
        path = malloc(strlen(folder) + strlen(source) + 2);
        if (path)
            stpcpy(stpcpy(stpcpy(path, folder), "/"), source);
    } else {
        path = strdup(source);
    }
    if (path && dwarf_lineno(line, &number) == 0) {
        free(frame->file);
        frame->file = path;
        frame->line = number;
    } else {
        free(path);
    }
}

/* ---- Modules --------------------------------------------------------------------------------- */

static void resolve_frame(Dwfl_Module *module, struct profile_frame *frame)
{
    Dwarf_Addr start = 0, end = 0;
    dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
    const Dwarf_Addr address = start + frame->offset - 1; /* in the call, not behind it */
    if (frame->offset == 0 || address >= end)
        return;
    const char *name = symbol_name(module, address);
    Dwarf_Addr bias;
    Dwarf_Die function, *unit = find_unit(module, address, &bias);
    if (unit) {
        read_line(unit, address - bias, frame);
        if (find_function(unit, address - bias, &function))
            name = function_name(&function, name);
    }
    set_function(frame, name);
}

static void resolve_module(const char *path, struct profile_frame **frames, size_t count)
{
    static char *debug_path; /* libdwfl's default */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf, /* never called: the file is given */
        .find_debuginfo = profile_debug_file_find,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path,
    };
    Dwfl *session = dwfl_begin(&callbacks);
    Dwfl_Module *module = session ? dwfl_report_offline(session, path, path, -1) : NULL;
    if (module && dwfl_report_end(session, NULL, NULL) == 0) {
        for (size_t i = 0; i < count; i++)
            resolve_frame(module, frames[i]);
    }
    dwfl_end(session);
}

static int compare_modules(const void *a, const void *b)
{
    const struct profile_frame *mine = *(struct profile_frame *const *)a;
    const struct profile_frame *its = *(struct profile_frame *const *)b;
    return strcmp(mine->module, its->module);
}

void profile_symbols_resolve(struct profile_frame **frames, size_t count)
{
    if (count)
        qsort(frames, count, sizeof *frames, compare_modules);
    for (size_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && !compare_modules(&frames[i], &frames[i + same]); same++)
            continue;
        if (*frames[i]->module)
            resolve_module(frames[i]->module, frames + i, same);
    }
}
