/* SPDX-License-Identifier: MIT */
/* See inspect.h. */
#include "loader/inspect.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "util/util.h"

#include <stdbool.h>
#include <string.h>

struct features {
    bool registers; /* refers to QMPI_Register_tool_name */
    bool init;      /* defines MPI_Init and PMPI_Init: an MPI library */
    int functions;  /* MPI functions that it defines */
};

static struct features read_features(const struct qmpi_elf_image *image)
{
    struct features features = {false, false, 0};
    bool mpi = false, pmpi = false;
    for (size_t i = 0; i < image->symbol_count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        const char *name = qmpi_elf_string(image, symbol->st_name);
        if (!qmpi_elf_defines(symbol)) {
            features.registers |= !strcmp(name, "QMPI_Register_tool_name");
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
 * in use, or the libqmpi of another. */
static const char *find_other_mpi(const struct qmpi_elf_image *image, const char *base_soname)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(image, i)); i++) {
        if (!strncmp(needed, "libmpich.so", 11) || !strncmp(needed, "libmpi.so", 9)) {
            if (strcmp(needed, base_soname) != 0)
                return needed;
        } else if (!strncmp(needed, "libqmpi", 7) && strcmp(needed, QMPI_SONAME) != 0) {
            return needed;
        }
    }
    return NULL;
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
    const char *other = base_soname ? find_other_mpi(&file.image, base_soname) : NULL;
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
    } else if (!features.registers && !features.functions) {
        problem = qmpi_message(
            "%s is not a tool: it neither registers a QMPI tool nor defines MPI functions\n"
            "hint: give a tool library",
            path);
    } else {
        *kind = features.registers ? QMPI_KIND_NATIVE : QMPI_KIND_PMPI;
    }
    qmpi_elf_file_close(&file);
    return problem;
}
