/* SPDX-License-Identifier: MIT */
/*
 * This part finds libqmpi and its tools, and chooses between builds for several MPIs that are
 * installed side by side. A program needs the build for the MPI of its libraries. A launcher needs
 * the build for the program that it starts, which is among its arguments. If the libraries show no
 * MPI, as with scripts and programs that load MPI with dlopen, the build for the MPI of the
 * launcher is chosen, and without a launcher, the build to which this command belongs.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/program.h"
#include "cli/site_folder.h"
#include "config/config.h"
#include "elf/elf.h"
#include "generate/build.h"
#include "process/process.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- This command ---------------------------------------------------------------------------- */

/* The library is found by its soname, and not by the address of a function, because LD_PRELOAD may
 * contain the libqmpi of another MPI, which defines the same names. */
const char *cli_library_path(void)
{
    static char *path;
    const struct link_map *map = NULL;
    void *library = path ? NULL : dlopen(QMPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        path = realpath(map->l_name, NULL);
    if (library)
        dlclose(library);
    if (!path) {
        qmpi_printf("cannot find libqmpi\n"
                    "hint: reinstall qmpi");
        exit(2);
    }
    return path;
}

/* Defines the function that config/settings.h declares. The path of the library contains no
 * symbolic links. Therefore, each `..` can be removed together with the directory before it, even
 * if the result does not exist. */
char *qmpi_config_site_folder(void)
{
    static const char up[] = "../";
    const char *library = cli_library_path(), *rest = QMPI_SITE_FOLDER;
    size_t length = (size_t)(strrchr(library, '/') - library);
    for (; !strncmp(rest, up, sizeof up - 1); rest += sizeof up - 1) {
        while (length && library[--length] != '/')
            ;
    }
    return qmpi_format("%.*s/%s", (int)length, library, rest);
}

const char *cli_tools_folder(void)
{
    static char *folder;
    const char *library = cli_library_path();
    if (!folder)
        folder =
            qmpi_format("%.*s/" QMPI_TOOLS_FOLDER, (int)(strrchr(library, '/') - library), library);
    return folder;
}

/* ---- Installed builds ------------------------------------------------------------------------ */

const char *cli_build_check_mpi(const struct argp_state *state, const char *mpi)
{
    if (qmpi_mpi_kind_by_build(mpi) == QMPI_MPI_UNKNOWN)
        cli_misuse(state, "--mpi must be mpich, openmpi or abi, not '%s'", mpi);
    return mpi;
}

static char *find_build_library(int build)
{
    const char *self = cli_library_path();
    if (build == qmpi_mpi_kind_by_build(QMPI_MPI))
        return qmpi_copy(self);
    char *name = qmpi_format("%.*s/libqmpi%s.so.0", (int)(strrchr(self, '/') - self), self,
                             qmpi_mpi_descriptions[build].suffix);
    char *path = realpath(name, NULL);
    free(name);
    return path;
}

char *cli_build_find_library(const char *mpi)
{
    return find_build_library(qmpi_mpi_kind_by_build(mpi));
}

/* ---- The MPI of a program -------------------------------------------------------------------- */

/* Returns the MPI of a library by its name, or NULL if the name does not show it. One such name is
 * libmpi.so.12, which both MPICH and Open MPI have used. */
static const char *mpi_of_name(const char *needed)
{
    if (!strncmp(needed, "libmpich.so", 11))
        return "mpich";
    if (!strncmp(needed, "libmpi.so.20", 12) || !strncmp(needed, "libmpi.so.40", 12))
        return "openmpi";
    return NULL;
}

static const char *mpi_of_needs(const struct qmpi_elf_image *image)
{
    const char *needed, *mpi = NULL;
    for (int i = 0; !mpi && (needed = qmpi_elf_needed(image, i)); i++)
        mpi = mpi_of_name(needed);
    return mpi;
}

/* Returns the MPI of the library that the dynamic loader would give the program, or NULL. */
static const char *mpi_of_libraries(const char *path)
{
    const char *mpi = NULL;
    char *library = program_find_mpi(path);
    struct program_object object = {.problem = NULL};
    if (library)
        object = program_object_read(library, false);
    if (object.mpi_library)
        mpi = object.kind == QMPI_MPI_UNKNOWN ? NULL : qmpi_mpi_descriptions[object.kind].build;
    free(object.problem);
    free(library);
    return mpi;
}

const char *cli_mpi_of_launcher(const char *path)
{
    static const struct {
        const char *part, *mpi;
    } marks[] = {{"hydra", "mpich"},  {"mpich", "mpich"},  {"openmpi", "openmpi"},
                 {"orte", "openmpi"}, {"prte", "openmpi"}, {"ompi", "openmpi"}};
    const char *name = qmpi_text_base_name(path);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strstr(name, marks[i].part))
            return marks[i].mpi;
    }
    return NULL;
}

const char *cli_mpi_of_library(void)
{
    if (qmpi_mpi_kind_by_build(QMPI_MPI) != QMPI_MPI_ABI)
        return QMPI_MPI;
    struct link_map *map = NULL;
    void *handle = dlopen(QMPI_MPI_SONAME, RTLD_LAZY | RTLD_LOCAL);
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
        return NULL;
    const struct program_object object = program_object_read(map->l_name, false);
    const bool unknown = object.problem || object.implementation == QMPI_MPI_UNKNOWN;
    free(object.problem);
    return unknown ? NULL : qmpi_mpi_descriptions[object.implementation].build;
}

/* Returns the MPI of a launcher by its name, because a launcher itself needs no MPI library.
 * Returns NULL for other programs, or if the name does not show the MPI. */
static const char *mpi_of_started(const char *path)
{
    char *real = program_is_launcher(path) ? realpath(path, NULL) : NULL;
    const char *mpi = real ? cli_mpi_of_launcher(real) : NULL;
    free(real);
    return mpi;
}

/* Returns the MPI of the libraries that a program needs, or NULL. */
static const char *mpi_of_file(const char *path)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open_program(path, &file))
        return NULL;
    const bool needs_any = qmpi_elf_needed(&file.image, 0) != NULL;
    const char *mpi = mpi_of_needs(&file.image);
    qmpi_elf_file_close(&file);
    return !mpi && needs_any ? mpi_of_libraries(path) : mpi;
}

/* Returns the MPI of the program that a launcher starts, or NULL. No list of options, which differ
 * between launchers and their versions, is needed to find the program: it is the first argument
 * that is a program of an MPI. */
static const char *mpi_of_arguments(char *const *arguments)
{
    const char *mpi = NULL;
    for (; !mpi && *arguments; arguments++) {
        char *path = program_find_argument(*arguments);
        if (path)
            mpi = mpi_of_file(path);
        free(path);
    }
    return mpi;
}

static const char *mpi_of_command(char *const *command)
{
    const char *mpi = NULL;
    char *path = program_find(command[0]);
    if (path && program_is_launcher(path))
        mpi = mpi_of_arguments(command + 1);
    if (path && !mpi)
        mpi = mpi_of_started(path);
    if (path && !mpi)
        mpi = mpi_of_file(path);
    free(path);
    return mpi;
}

/* ---- The choice ------------------------------------------------------------------------------ */

char *cli_build_find_command(const char *mpi)
{
    char *self = realpath("/proc/self/exe", NULL);
    if (!self || !strcmp(mpi, QMPI_MPI))
        return self;
    char *path = qmpi_format("%.*s/qmpi%s", (int)(strrchr(self, '/') - self), self,
                             qmpi_mpi_descriptions[qmpi_mpi_kind_by_build(mpi)].suffix);
    free(self);
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

struct cli_build cli_build_choose(const char *mpi, char *const *command)
{
    const char *shown = mpi;
    bool alone = true; /* No other build is installed here. */
    for (int i = 0; i < QMPI_MPI_KINDS; i++) {
        char *library = i == qmpi_mpi_kind_by_build(QMPI_MPI) ? NULL : find_build_library(i);
        alone = alone && !library;
        free(library);
    }
    if (!shown && !alone)
        shown = command ? mpi_of_command(command) : NULL;
    if (!shown && !alone)
        shown = qmpi_launcher_mpi();
    const int build = qmpi_mpi_kind_by_build(shown ? shown : QMPI_MPI);
    char *library = find_build_library(build);
    if (!library && mpi) {
        const char *self = cli_library_path();
        qmpi_printf("--mpi=%s: libqmpi%s.so.0 not found in %.*s\n"
                    "hint: build and install qmpi for this MPI: meson setup -Dmpi=%s",
                    mpi, qmpi_mpi_descriptions[build].suffix, (int)(strrchr(self, '/') - self),
                    self, mpi);
        exit(2);
    }
    const int chosen = library ? build : qmpi_mpi_kind_by_build(QMPI_MPI);
    library = library ? library : qmpi_copy(cli_library_path());
    return (struct cli_build){qmpi_mpi_descriptions[chosen].build, library,
                              qmpi_format("%.*s/qmpi%s", (int)(strrchr(library, '/') - library),
                                          library, qmpi_mpi_descriptions[chosen].suffix)};
}

/* ---- Versions -------------------------------------------------------------------------------- */

void cli_shorten_version(char *version)
{
    version[strcspn(version, "\n")] = '\0';
    while (strchr(version, '\t'))
        *strchr(version, '\t') = ' ';
}
