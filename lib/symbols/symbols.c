/* SPDX-License-Identifier: MIT */
/* See symbols.h. */
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

/* The name as people know it, to be freed; NULL: unknown. */
static char *copy_name(const char *name)
{
    char *demangled = name ? demangle(name) : NULL;
    return demangled || !name ? demangled : strdup(name);
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

/* A source file, in full, to be freed; NULL: unknown. */
static char *copy_path(Dwarf_Die *unit, const char *source)
{
    Dwarf_Attribute attribute;
    const char *folder = !source || *source == '/' || !dwarf_attr(unit, DW_AT_comp_dir, &attribute)
                             ? NULL
                             : dwarf_formstring(&attribute);
    if (!folder)
        return source ? strdup(source) : NULL;
    char *path = malloc(strlen(folder) + strlen(source) + 2);
    if (path)
        stpcpy(stpcpy(stpcpy(path, folder), "/"), source);
    return path;
}

static void read_line(Dwarf_Die *unit, Dwarf_Addr address, QMPIX_Frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (!line || dwarf_lineno(line, &number) != 0)
        return;
    frame->file = copy_path(unit, dwarf_linesrc(line, NULL, NULL));
    frame->line = frame->file ? number : 0;
}

/* ---- Inlined functions ----------------------------------------------------------------------- */

/* The place of the call that was replaced by the code of the inlined function. */
static void read_call(Dwarf_Die *unit, Dwarf_Die *inlined, QMPIX_Frame *frame)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file, line;
    Dwarf_Files *files;
    if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &file) ||
        !dwarf_attr(inlined, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line) ||
        dwarf_getsrcfiles(unit, &files, NULL))
        return;
    frame->file = copy_path(unit, dwarf_filesrc(files, file, NULL, NULL));
    frame->line = frame->file ? (int)line : 0;
}

/* The function around an inlined one. */
static bool find_outer(Dwarf_Die *function)
{
    Dwarf_Die *scopes = NULL;
    const int count = dwarf_getscopes_die(function, &scopes);
    int i = 1;
    while (i < count && !is_function(&scopes[i]))
        i++;
    if (i < count)
        *function = scopes[i];
    free(scopes);
    return i < count;
}

/* Returns the number of frames, the innermost first. */
static int read_functions(Dwarf_Die *unit, Dwarf_Die function, const char *symbol,
                          QMPIX_Frame **frames)
{
    int count = 1;
    for (;;) {
        (*frames)[count - 1].function = copy_name(function_name(&function, symbol));
        QMPIX_Frame *more = dwarf_tag(&function) == DW_TAG_inlined_subroutine
                                ? realloc(*frames, ((size_t)count + 1) * sizeof *more)
                                : NULL;
        if (!more)
            return count;
        *frames = more;
        more[count] = (QMPIX_Frame){.function = NULL};
        read_call(unit, &function, &more[count++]);
        if (!find_outer(&function))
            return count;
    }
}

/* ---- Modules --------------------------------------------------------------------------------- */

struct symbols_file {
    Dwfl *session;
    Dwfl_Module *module;
};

static void close_file(struct symbols_file *file)
{
    if (file)
        dwfl_end(file->session);
    free(file);
}

static struct symbols_file *open_file(const char *path)
{
    static char *debug_path; /* libdwfl's default */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf, /* never called: the file is given */
        .find_debuginfo = profile_debug_file_find,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path,
    };
    struct symbols_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->session = dwfl_begin(&callbacks);
    file->module = file->session ? dwfl_report_offline(file->session, path, path, -1) : NULL;
    if (file->module && dwfl_report_end(file->session, NULL, NULL) == 0)
        return file;
    close_file(file);
    return NULL;
}

static int find_functions(struct symbols_file *file, uint64_t offset, QMPIX_Frame **frames)
{
    Dwarf_Addr start = 0, end = 0, bias;
    Dwarf_Die function;
    dwfl_module_info(file->module, NULL, &start, &end, NULL, NULL, NULL, NULL);
    const Dwarf_Addr address = start + offset - 1; /* in the call, not behind it */
    *frames = NULL;
    if (offset == 0 || address >= end || !(*frames = calloc(1, sizeof **frames)))
        return 0;
    const char *symbol = symbol_name(file->module, address);
    Dwarf_Die *unit = find_unit(file->module, address, &bias);
    if (unit) {
        read_line(unit, address - bias, *frames);
        if (find_function(unit, address - bias, &function))
            return read_functions(unit, function, symbol, frames);
    }
    (*frames)->function = copy_name(symbol);
    if ((*frames)->function || (*frames)->file)
        return 1;
    free(*frames);
    *frames = NULL;
    return 0;
}

/* ---- By path --------------------------------------------------------------------------------- */

struct opened {
    char *path;
    struct symbols_file *file; /* NULL: it cannot be read */
    struct opened *next;
};

static struct opened *all;

static const struct opened *open_once(const char *path)
{
    for (const struct opened *opened = all; opened; opened = opened->next) {
        if (!strcmp(opened->path, path))
            return opened;
    }
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened || !(opened->path = strdup(path))) {
        free(opened);
        return NULL;
    }
    opened->file = open_file(path);
    opened->next = all;
    all = opened;
    return opened;
}

int symbols_find_in(const char *path, uint64_t offset, QMPIX_Frame **frames)
{
    const struct opened *opened = open_once(path);
    return opened && opened->file ? find_functions(opened->file, offset, frames) : 0;
}

void symbols_close(void)
{
    while (all) {
        struct opened *const opened = all;
        all = opened->next;
        close_file(opened->file);
        free(opened->path);
        free(opened);
    }
}
