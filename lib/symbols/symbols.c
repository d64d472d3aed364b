/* SPDX-License-Identifier: MIT */
/* See symbols.h. */
#define _GNU_SOURCE
#include "symbols/symbols.h"

#include "util/util.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_mangled(const char *name)
{
    return name && !strncmp(name, "_Z", 2);
}

/* Demangles a name with the C++ runtime of the program or of this machine. The runtime is looked up
 * at run time, so that nothing needs to be linked with it. Returns NULL if there is none or if the
 * name is not mangled. The caller frees the result. */
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
    if (clone) /* This suffix only shows how the compiler has transformed the function. */
        *clone = '\0';
    return demangled;
}

/* Returns the demangled name, or a copy of the name if it is not mangled. The caller frees it.
 * Returns NULL if `name` is NULL or memory is exhausted. */
static char *copy_name(const char *name)
{
    char *demangled = name ? demangle(name) : NULL;
    return demangled || !name ? demangled : strdup(name);
}

/* Returns the symbol that contains an address. The nearest symbol below an address is not enough,
 * because it may have nothing to do with the address. */
static const char *symbol_name(Dwfl_Module *module, Dwarf_Addr address)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    return name && offset < symbol.st_size ? name : NULL;
}

/* ---- Debug information ----------------------------------------------------------------------- */

/* Returns the unit that contains an address. Sets `bias` to the number that libdwfl adds to the
 * addresses in the file. */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);
    if (unit)
        return unit;
    /* Some compilers, such as clang, write no table of addresses, so each unit is examined. */
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
 * Finds the innermost function below `die` that contains an address. This function also finds
 * functions that dwarf_getscopes does not find. In Fortran, functions may be members of modules,
 * which have no addresses themselves. Functions after `contains` are members of functions that have
 * other addresses.
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

/* Finds the innermost function at an address, which may be inlined. Returns false if the unit
 * describes none. */
static bool find_innermost_function(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *found)
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

/* Returns the mangled name of a C++ function, which contains its types, and the name in the source
 * for other languages. The mangled name is the linkage name. Lambdas have no mangled linkage name,
 * so the name of the ELF symbol is used for them. */
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

/* Returns the path of a source file. A relative path follows the folder in which the file was
 * compiled, if this folder is known. Returns NULL if `source` is NULL or memory is exhausted. The
 * caller frees the path. */
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

/* Reads the file and line of the call that the compiler replaced with the inlined function. */
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

/* Replaces an inlined function with the function around it. Returns false if there is none. */
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

/* Stores the frames of a function and of those around it, the innermost first, and returns their
 * number. */
static int read_nested_functions(Dwarf_Die *unit, Dwarf_Die function, const char *symbol,
                                 QMPIX_Frame **frames)
{
    size_t room = 1;
    int count = 1;
    for (;;) {
        (*frames)[count - 1].function = copy_name(function_name(&function, symbol));
        if (dwarf_tag(&function) != DW_TAG_inlined_subroutine ||
            !QMPI_MEMORY_RESERVE(*frames, room, (size_t)count + 1))
            return count;
        read_call(unit, &function, &(*frames)[count++]);
        if (!find_outer(&function))
            return count;
    }
}

/* ---- Debug files ----------------------------------------------------------------------------- */

/*
 * Finds separate debug files for libdwfl. A file with a build-id is sought below the debug
 * directories. A file that .gnu_debuglink or .gnu_debugaltlink names is sought in the directory of
 * the module, in its subdirectory .debug, and below the debug directories. Unlike libdwfl
 * itself, this search never queries a debuginfod server.
 */

/* gdb and libdwfl also search this folder. */
static const char debug_folder[] = "/usr/lib/debug";

/* Adds bytes to the CRC-32 that .gnu_debuglink contains. It is reflected, and its polynomial is
 * 0x04c11db7. */
static uint32_t add_checksum(uint32_t checksum, const unsigned char *bytes, size_t count)
{
    checksum = ~checksum;
    for (size_t i = 0; i < count; i++) {
        checksum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            checksum = checksum >> 1 ^ (checksum & 1 ? 0xedb88320 : 0);
    }
    return ~checksum;
}

static bool has_checksum(int descriptor, uint32_t wanted)
{
    unsigned char bytes[16384];
    uint32_t checksum = 0;
    off_t at = 0;
    ssize_t count;
    while ((count = pread(descriptor, bytes, sizeof bytes, at)) > 0) {
        checksum = add_checksum(checksum, bytes, (size_t)count);
        at += count;
    }
    return count == 0 && checksum == wanted;
}

/* Opens `path` and returns its descriptor, or -1 if it is not the right file. `path` may be NULL.
 * It is freed, or stored in `found` if the file is the right one. A checksum of 0 is not checked,
 * because libdwfl then checks the file itself. */
static int open_debug_file(char *path, GElf_Word checksum, char **found)
{
    const int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor >= 0 && (!checksum || has_checksum(descriptor, checksum))) {
        *found = path;
        return descriptor;
    }
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    return -1;
}

static char *join_path(const char *folder, const char *subdirectory, const char *name)
{
    char *path;
    return asprintf(&path, "%s%s/%s", folder, subdirectory, name) < 0 ? NULL : path;
}

/* Searches in the directories that belong to `file`. If `file` is a symbolic link, the caller has
 * already searched in those of its target. */
static int find_debug_file_beside(const char *file, const char *link, GElf_Word checksum,
                                  char **found)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");
    int descriptor = -1;
    if (!folder)
        return -1;
    char *beside = join_path(folder, "", link);
    /* A debug file may keep the .gnu_debuglink of its module, which then names the file itself. */
    if (beside && strcmp(beside, file) != 0)
        descriptor = open_debug_file(beside, checksum, found);
    else
        free(beside);
    if (descriptor < 0)
        descriptor = open_debug_file(join_path(folder, "/.debug", link), checksum, found);
    if (descriptor < 0 && *folder == '/')
        descriptor = open_debug_file(join_path(debug_folder, folder, link), checksum, found);
    free(folder);
    return descriptor;
}

static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                           const char *file, const char *link, GElf_Word checksum, char **found)
{
    int descriptor =
        dwfl_build_id_find_debuginfo(module, data, name, base, file, link, checksum, found);
    if (descriptor >= 0 || !link || !*link)
        return descriptor;
    if (*link == '/') {
        descriptor = open_debug_file(strdup(link), checksum, found);
    } else if (file) {
        char *target = realpath(file, NULL);
        descriptor = target ? find_debug_file_beside(target, link, checksum, found) : -1;
        if (descriptor < 0 && (!target || strcmp(target, file) != 0))
            descriptor = find_debug_file_beside(file, link, checksum, found);
        free(target);
    }
    if (descriptor < 0)
        errno = 0; /* It is no error if there is no debug file. */
    return descriptor;
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

static struct symbols_file *open_symbols_file(const char *path)
{
    static char *debug_path; /* NULL stands for the default of libdwfl. */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf, /* is never called, because the file is passed */
        .find_debuginfo = find_debug_file,
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
    const Dwarf_Addr address = start + offset - 1; /* This address is within the call. */
    *frames = NULL;
    if (offset == 0 || address >= end || !(*frames = calloc(1, sizeof **frames)))
        return 0;
    const char *symbol = symbol_name(file->module, address);
    Dwarf_Die *unit = find_unit(file->module, address, &bias);
    if (unit) {
        read_line(unit, address - bias, *frames);
        if (find_innermost_function(unit, address - bias, &function))
            return read_nested_functions(unit, function, symbol, frames);
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
    struct symbols_file *file; /* This is NULL if the file cannot be read. */
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
    opened->file = open_symbols_file(path);
    opened->next = all;
    all = opened;
    return opened;
}

struct question {
    const char *path;
    uint64_t offset;
    QMPIX_Frame **frames;
    int count;
};

static void find_frames(void *data)
{
    struct question *question = data;
    const struct opened *opened = open_once(question->path);
    if (opened && opened->file)
        question->count = find_functions(opened->file, question->offset, question->frames);
}

int symbols_find_in(const char *path, uint64_t offset, QMPIX_Frame **frames)
{
    struct question question = {path, offset, frames, 0};
    qmpi_call_stack_run(find_frames, &question);
    return question.count;
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
