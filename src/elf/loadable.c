/* SPDX-License-Identifier: MIT */
/* See loadable.h. */
#define _GNU_SOURCE
#include "elf/loadable.h"

#include "elf/arch/machine.h"
#include "util/util.h"

#include <ctype.h>
#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <stdlib.h>

/* ---- Opening --------------------------------------------------------------------------------- */

/* Returns the size of the thread-local storage of a library. */
static uint64_t read_tls_size(const struct qmpi_elf_file *file)
{
    const ElfW(Ehdr) *header = file->map;
    const char *segments = (const char *)file->map + header->e_phoff;
    for (int i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        memcpy(&segment, segments + (size_t)i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_TLS)
            return segment.p_memsz;
    }
    return 0;
}

/* Whether the code of a library needs thread-local storage at the same distance from the thread
 * pointer in all threads. For some processors, the linker does not set DF_STATIC_TLS, so that only
 * the relocations show this need. */
static bool uses_static_tls(const struct qmpi_elf_file *file)
{
    const struct qmpi_elf_image *image = &file->image;
    if (qmpi_elf_tag(image, DT_FLAGS, 0) & DF_STATIC_TLS)
        return true;
    uint64_t left;
    const uint64_t at = qmpi_elf_file_offset(file, qmpi_elf_tag(image, DT_RELA, 0), &left);
    const uint64_t size = qmpi_elf_tag(image, DT_RELASZ, 0);
    if (!at || at % sizeof(uint64_t) || size > left)
        return false;
    const ElfW(Rela) *relocations = (const void *)((const char *)file->map + at);
    for (uint64_t i = qmpi_elf_tag(image, DT_RELACOUNT, 0); i < size / sizeof *relocations; i++) {
        if (ELF64_R_TYPE(relocations[i].r_info) == QMPI_ELF_STATIC_TLS)
            return true;
    }
    return false;
}

const char *qmpi_loadable_obstacle(const struct qmpi_elf_file *file)
{
    /* The C library reserves about 1.5 KiB for all libraries that are opened later, so a library
     * that needs more than a small part of it may find no room. */
    enum { ROOM = 256 };
    if (qmpi_elf_tag(&file->image, DT_FLAGS_1, 0) & DF_1_NOOPEN)
        return "is linked with -z nodlopen";
    if (read_tls_size(file) > ROOM && uses_static_tls(file))
        return "has large static thread-local storage";
    return NULL;
}

/* Whether the loader's message says that a symbol of the MPI library is undefined. These symbols
 * include the predefined handles of Open MPI. */
static bool lacks_symbol_of_mpi(const char *said)
{
    static const char before[] = "undefined symbol: ";
    static const char *const prefixes[] = {"MPI", "PMPI", "ompi_", "mpi_"};
    const char *symbol = strstr(said, before);
    for (size_t i = 0; symbol && i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!strncmp(symbol + strlen(before), prefixes[i], strlen(prefixes[i])))
            return true;
    }
    return false;
}

/* If the loader has not found a library that `path` needs, returns the name of this library, which
 * the caller frees; otherwise returns NULL. */
static char *name_missing_library(const char *path, const char *said)
{
    const char *end = strstr(said, ": cannot open shared object file");
    const size_t length = end ? (size_t)(end - said) : 0;
    if (!end || (length == strlen(path) && !strncmp(said, path, length)))
        return NULL;
    return qmpi_copy_part(said, length);
}

char *qmpi_loadable_explain(const char *path, const char *reason, const char *hint)
{
    struct qmpi_elf_file file;
    const char *said = reason ? reason : "the dynamic loader gives no reason";
    if (lacks_symbol_of_mpi(said))
        return qmpi_message("%s cannot be loaded: %s\n"
                            "hint: it was built with another version of the MPI library; build it "
                            "with the one that the program uses",
                            path, said);
    char *missing = name_missing_library(path, said);
    if (missing) {
        char *message = qmpi_message(
            "%s cannot be loaded: it needs %s, which the dynamic loader does not find\n"
            "hint: install the package of %s, or name its directory in LD_LIBRARY_PATH",
            path, missing, missing);
        free(missing);
        return message;
    }
    const char *obstacle = NULL;
    if (!qmpi_elf_file_open(path, &file)) {
        obstacle = qmpi_loadable_obstacle(&file);
        qmpi_elf_file_close(&file);
    }
    const bool no_room = strstr(said, "static TLS block") != NULL;
    if (obstacle)
        return qmpi_message("%s cannot be loaded into a running process, because it %s: %s\n"
                            "hint: start the program with `qmpi run`, which preloads the first "
                            "layer of such a tool, unless the option @preload=no is given%s",
                            path, obstacle, said,
                            no_room ? "; GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536 makes "
                                      "room for more static thread-local storage"
                                    : "; list the tool only once in the stack");
    if (no_room)
        return qmpi_message("%s cannot be loaded: %s\n"
                            "hint: give it the option @preload=yes, with which `qmpi run` preloads "
                            "it, or set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536",
                            path, said);
    if (qmpi_loadable_path_obstacle(path) && strchr(path, '$'))
        return qmpi_message(
            "%s cannot be loaded: the dynamic loader does not accept a path with %s\n"
            "hint: move it to another path",
            path, qmpi_loadable_path_obstacle(path));
    return qmpi_message("%s cannot be loaded: %s\nhint: %s", path, said, hint);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Whether `text`, which follows a `$`, starts with `name`, alone or in braces. */
static bool is_replaced(const char *text, const char *name)
{
    const bool braced = *text == '{';
    const size_t length = strlen(name);
    text += braced;
    if (strncmp(text, name, length) != 0)
        return false;
    return braced ? text[length] == '}'
                  : !isalnum((unsigned char)text[length]) && text[length] != '_';
}

const char *qmpi_loadable_path_obstacle(const char *path)
{
    static const struct {
        const char *name, *said;
    } replaced[] = {{"ORIGIN", "$ORIGIN, which it replaces"},
                    {"LIB", "$LIB, which it replaces"},
                    {"PLATFORM", "$PLATFORM, which it replaces"}};
    if (strpbrk(path, " :"))
        return "a space or colon";
    for (const char *dollar = strchr(path, '$'); dollar; dollar = strchr(dollar + 1, '$')) {
        for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
            if (is_replaced(dollar + 1, replaced[i].name))
                return replaced[i].said;
        }
    }
    return NULL;
}

/* ---- Interposed functions -------------------------------------------------------------------- */

/* Well-known functions, which a message names first. */
static const char *const well_known[] = {"open",  "read",   "write",  "close", "fopen",
                                         "fread", "fwrite", "malloc", "free",  "pthread_create"};

static bool is_well_known(const char *name)
{
    for (size_t i = 0; i < sizeof well_known / sizeof *well_known; i++) {
        if (!strcmp(name, well_known[i]))
            return true;
    }
    return false;
}

static void append_name(char **names, const char *name)
{
    char *longer = qmpi_format("%s%s%s", *names ? *names : "", *names ? ", " : "", name);
    free(*names);
    *names = longer;
}

static bool image_defines(const struct qmpi_elf_image *image, const char *name)
{
    const size_t symbols = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < symbols; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            !strcmp(qmpi_elf_string(image, image->symbols[i].st_name), name))
            return true;
    }
    return false;
}

/* Counts the functions of libc that the object defines; if `other` is not NULL, only those that
 * `other` also defines. Counts either the well-known functions or all others, and appends up to
 * `room` of their names. */
static int count_interposed(const struct qmpi_elf_image *image, const struct qmpi_elf_image *other,
                            void *libc, bool want_well_known, int room, char **names)
{
    int count = 0;
    const size_t symbols = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < symbols; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        const char *name = qmpi_elf_string(image, symbol->st_name);
        /* Functions whose names start with an underscore belong to the compiler or are variants of
         * others. */
        if (!qmpi_elf_defines(symbol) || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
            name[0] == '_' || is_well_known(name) != want_well_known || !dlsym(libc, name) ||
            (other && !image_defines(other, name)))
            continue;
        if (count++ < room)
            append_name(names, name);
    }
    return count;
}

static char *list_interposed(const struct qmpi_elf_image *image, const struct qmpi_elf_image *other)
{
    enum { NAMED = 5 };
    void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    char *names = NULL;
    if (!libc)
        return NULL;
    int count = count_interposed(image, other, libc, true, NAMED, &names);
    count += count_interposed(image, other, libc, false, count < NAMED ? NAMED - count : 0, &names);
    dlclose(libc);
    if (count > NAMED) {
        char *longer = qmpi_format("%s and %d more", names, count - NAMED);
        free(names);
        names = longer;
    }
    return names;
}

char *qmpi_loadable_interposed(const struct qmpi_elf_image *image)
{
    return list_interposed(image, NULL);
}

char *qmpi_loadable_interposed_by_both(const struct qmpi_elf_image *one,
                                       const struct qmpi_elf_image *other)
{
    return list_interposed(one, other);
}
