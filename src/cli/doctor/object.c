/* SPDX-License-Identifier: MIT */
/* See doctor.h: what the symbols of a library or program tell of its ways to MPI. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "elf/elf.h"
#include "functions/functions.h"
#include "util/util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcmp(text + length - part, end);
}

/* mpi_send_f08_, mpi_send_f08ts_, pmpir_send_f08_. */
static bool is_f08(const char *name)
{
    return (!strncmp(name, "mpi_", 4) || !strncmp(name, "pmpi", 4)) &&
           (ends_with(name, "_f08_") || ends_with(name, "_f08ts_"));
}

/* mpi_send_, mpi_send__, mpi_send, MPI_SEND: those of a function that there is. */
static bool is_mpif(const char *name)
{
    if (strncasecmp(name, "mpi_", 4) != 0 || qmpi_name_find(name) >= 0)
        return false;
    size_t length = strlen(name);
    while (length && name[length - 1] == '_')
        length--;
    for (int number = 0; number < qmpi_name_count; number++) {
        if (strlen(qmpi_names[number].name) == length &&
            !strncasecmp(qmpi_names[number].name, name, length))
            return true;
    }
    return false;
}

struct definitions {
    bool get_version, pget_version, binding, qmpi, registers;
    int functions;
};

static void note_definition(struct definitions *defined, const char *name)
{
    static const char *const bindings[] = {"pmpi_init_", "pmpi_init__",    "pmpi_init",
                                           "PMPI_INIT",  "pmpi_init_f08_", "mpi_init_f08_"};
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++)
        defined->binding |= !strcmp(name, bindings[i]);
    defined->get_version |= !strcmp(name, "MPI_Get_library_version");
    defined->pget_version |= !strcmp(name, "PMPI_Get_library_version");
    defined->qmpi |= !strcmp(name, "QMPIX_Function_name");
    defined->functions += !strncmp(name, "MPI", 3) && qmpi_name_find(name) >= 0;
}

static void note_relocation(struct definitions *defined, struct doctor_object *object,
                            const char *name)
{
    defined->registers |= !strcmp(name, "QMPI_Register_tool_name");
    object->loads |= !strcmp(name, "dlopen") || !strcmp(name, "dlmopen");
    if (tolower((unsigned char)name[0]) != 'm' && name[0] != 'p')
        return;
    if (is_f08(name))
        object->calls_f08 = true;
    else if (qmpi_name_find(name) >= 0)
        object->calls_c = true;
    else if (is_mpif(name))
        object->calls_mpif = true;
}

static void read_symbols(const struct qmpi_elf_image *image, struct doctor_object *object)
{
    struct definitions defined = {.functions = 0};
    for (size_t i = 0; i < image->symbol_count; i++) {
        const char *name = qmpi_elf_string(image, image->symbols[i].st_name);
        if (qmpi_elf_defines(&image->symbols[i]))
            note_definition(&defined, name);
        else
            note_relocation(&defined, object, name);
    }
    object->kind = qmpi_mpi_kind_of(image);
    object->implementation = qmpi_mpi_implementation_of(image);
    object->qmpi = defined.qmpi;
    object->binding = defined.binding && !defined.get_version;
    object->mpi_library =
        defined.get_version && defined.pget_version &&
        (!defined.qmpi || object->kind == QMPI_MPI_OPEN_MPI || object->holds_static);
    object->native_tool = defined.registers && !defined.qmpi;
    object->pmpi_tool = defined.functions && !defined.pget_version && !defined.binding &&
                        !defined.qmpi && !defined.registers;
}

struct doctor_object doctor_object_read(const char *path, bool program)
{
    static const char *const library_names[] = {"libmpich", "libmpi.so", "libmpi_abi"};
    static const char *const versions[] = {"MPICH Version:", "Open MPI v"};
    struct doctor_object object = {.problem = NULL};
    struct qmpi_elf_file file;
    const char *reason =
        program ? qmpi_elf_program_open(path, &file) : qmpi_elf_file_open(path, &file);
    if (reason) {
        object.problem = qmpi_copy(reason);
        return object;
    }
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++)
        object.names_mpi |=
            memmem(file.map, file.size, library_names[i], strlen(library_names[i])) != NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        object.holds_static |=
            memmem(file.map, file.size, versions[i], strlen(versions[i])) != NULL;
    read_symbols(&file.image, &object);
    qmpi_elf_file_close(&file);
    return object;
}
