/* SPDX-License-Identifier: MIT */
/* See inspect.h. */
#include "loader/inspect.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "util/util.h"

#include <stdbool.h>
#include <string.h>

/* The name that tools which are compiled for the standard ABI need; it stands for libqmpi. */
#define QMPI_ABI_SONAME "libqmpi-abi.so.0"

/* Other headers define MPI_ABI_VERSION, too: Open MPI 6. */
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
static const bool is_abi = false;
#else
static const bool is_abi = true;
#endif

struct features {
    bool registers;     /* refers to QMPI_Register_tool_name */
    bool init;          /* defines MPI_Init and PMPI_Init: an MPI library */
    int functions;      /* MPI functions that it defines */
    bool abi;           /* refers to the name of QMPI_Register_tool_name for the standard ABI */
    const char *beyond; /* a function that it refers to, and that is not for such a tool */
};

/* Whether a tool that is compiled for the standard ABI can use a symbol in a program of another. */
static bool is_converted(const char *name)
{
    if (strncmp(name, "MPI", 3) != 0 && strncmp(name, "PMPI", 4) != 0 &&
        strncmp(name, "QMPI", 4) != 0)
        return true;
    const char *const *known = qmpi_abi_exports;
    while (*known && strcmp(*known, name) != 0)
        known++;
    return *known || !strcmp(name, "QMPIX_stack"); /* a variable */
}

static struct features read_features(const struct qmpi_elf_image *image)
{
    struct features features = {.registers = false};
    bool mpi = false, pmpi = false;
    for (size_t i = 0; i < image->symbol_count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        const char *name = qmpi_elf_string(image, symbol->st_name);
        if (!qmpi_elf_defines(symbol)) {
            features.registers |= !strcmp(name, "QMPI_Register_tool_name");
            features.abi |= !strcmp(name, "QMPIX_abi_Register_tool_name");
            if (!features.beyond && !is_converted(name))
                features.beyond = name;
            continue;
        }
        features.functions += !strncmp(name, "MPI", 3) && qmpi_name_find(name) >= 0;
        mpi |= !strcmp(name, "MPI_Get_library_version");
        pmpi |= !strcmp(name, "PMPI_Get_library_version");
    }
    features.init = mpi && pmpi;
    return features;
}

/* What tells for which MPI a tool was built, among what it needs: another MPI library than the one
 * in use, or the libqmpi of another. A converted tool may need a library of the standard ABI: its
 * calls go to libqmpi all the same. */
static const char *find_other_mpi(const struct qmpi_elf_image *image, const char *base_soname,
                                  bool converted)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(image, i)); i++) {
        if (!strncmp(needed, "libmpich.so", 11) || !strncmp(needed, "libmpi.so", 9) ||
            (!strncmp(needed, "libmpi_abi.so", 13) && !converted)) {
            if (strcmp(needed, base_soname) != 0)
                return needed;
        } else if (!strncmp(needed, "libqmpi", 7) && strcmp(needed, QMPI_SONAME) != 0 &&
                   !(converted && !strcmp(needed, QMPI_ABI_SONAME))) {
            return needed;
        }
    }
    return NULL;
}

/* A function of the interface that is newer than this libqmpi has the prefix of such tools. */
static const char *plain_name(const char *name)
{
    static const char prefix[] = "QMPIX_abi_";
    return strncmp(name, prefix, sizeof prefix - 1) ? name : name + sizeof prefix - 1;
}

char *qmpi_kind_read(const char *path, const char *base_soname, enum qmpi_kind *kind)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (reason)
        return qmpi_message("%s: %s\n"
                            "hint: give an intact tool library for this machine",
                            path, reason);
    const struct features features = read_features(&file.image);
    const bool converted = features.abi && !is_abi;
    const char *other = base_soname ? find_other_mpi(&file.image, base_soname, converted) : NULL;
    char *problem = NULL;
    if (features.init) {
        problem = qmpi_message("%s is an MPI library, not a tool\n"
                               "hint: give a tool library",
                               path);
    } else if (other) {
        problem =
            qmpi_message("%s was built for another MPI: it needs %s, but the program uses %s\n"
                         "hint: build the tool with the program's MPI",
                         path, other, base_soname);
    } else if (converted && features.beyond) {
        problem = qmpi_message(
            "%s is compiled for the standard ABI of MPI, and refers to %s, but in a program of "
            "another ABI that cannot be converted\n"
            "hint: build the tool with pkg-config qmpi" QMPI_SUFFIX ", or do without this function",
            path, plain_name(features.beyond));
    } else if (!features.registers && !features.abi && !features.functions) {
        problem = qmpi_message(
            "%s is not a tool: it neither registers a QMPI tool nor defines MPI functions\n"
            "hint: give a tool library",
            path);
    } else {
        *kind = converted                            ? QMPI_KIND_ABI
                : features.registers || features.abi ? QMPI_KIND_NATIVE
                                                     : QMPI_KIND_PMPI;
    }
    qmpi_elf_file_close(&file);
    return problem;
}
