/* SPDX-License-Identifier: MIT */
/* See loadable.h. */
#define _GNU_SOURCE
#include "elf/loadable.h"

#include "util/util.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* ---- Opening --------------------------------------------------------------------------------- */

/* The size of its thread-local storage; the file was found whole. */
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

const char *qmpi_loadable_obstacle(const struct qmpi_elf_file *file)
{
    /* The C library keeps some 1.5 KiB for all that is opened later; several tools share it. */
    enum { ROOM = 256 };
    if (qmpi_elf_tag(&file->image, DT_FLAGS_1, 0) & DF_1_NOOPEN)
        return "is linked with -z nodlopen";
    if ((qmpi_elf_tag(&file->image, DT_FLAGS, 0) & DF_STATIC_TLS) && read_tls_size(file) > ROOM)
        return "has large static thread-local storage";
    return NULL;
}

/* Names of the MPI library; in Open MPI, those of the predefined handles, too. */
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

char *qmpi_loadable_explain(const char *path, const char *reason, const char *hint)
{
    struct qmpi_elf_file file;
    const char *said = reason ? reason : "the dynamic loader gives no reason";
    if (lacks_symbol_of_mpi(said))
        return qmpi_message("%s cannot be loaded: %s\n"
                            "hint: it was built with another version of the MPI library; build it "
                            "with the one that the program uses",
                            path, said);
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
                                      "room for more"
                                    : ", and list it once");
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

/* Whether `text`, behind a `$`, is a name that the loader replaces. */
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
