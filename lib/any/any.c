/* SPDX-License-Identifier: MIT */
/*
 * libqmpi-any.so, a library that a site preloads for the programs of all MPIs. Before the program
 * begins, this library chooses the libqmpi for the program's MPI, puts that libqmpi first in
 * LD_PRELOAD, and executes the program again, in the same process. The program then runs as if the
 * right libqmpi had been preloaded. If it is preloaded already, nothing is done. A program that has
 * neither an MPI library nor a launcher runs on without libqmpi. If the program starts other
 * programs, the choice is made anew for each of them.
 *
 * Opening libqmpi with dlopen would not be enough: it would come after the MPI library in the
 * search order, so the program and other libraries would not call its functions.
 */
#define _GNU_SOURCE
#include "elf/elf.h"
#include "process/process.h"
#include "util/util.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char variable[] = "LD_PRELOAD", separators[] = ": ";

/* ---- The MPI of the program ------------------------------------------------------------------ */

/* Stores in `*data` the kind of the first MPI library whose kind is known. Libraries of qmpi also
 * define MPI functions, and are skipped. */
static int find_kind(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    enum qmpi_mpi_kind *kind = data;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) ||
        !qmpi_elf_loaded_find(&object, "PMPI_Get_library_version") ||
        qmpi_elf_loaded_find(&object, "QMPIX_Get_function"))
        return 0;
    *kind = qmpi_mpi_kind_of(&object.image);
    return *kind != QMPI_MPI_UNKNOWN;
}

/* Scripts, and programs that open an MPI library later, are assumed to use the MPI of the
 * launcher. */
static enum qmpi_mpi_kind kind_of_program(void)
{
    enum qmpi_mpi_kind kind = QMPI_MPI_UNKNOWN;
    dl_iterate_phdr(find_kind, &kind);
    const char *build = kind == QMPI_MPI_UNKNOWN ? qmpi_launcher_mpi() : NULL;
    return build ? qmpi_mpi_kind_by_build(build) : kind;
}

/* ---- The libraries --------------------------------------------------------------------------- */

/* Stores the directory that contains the libqmpis, with a slash at its end. It is the parent of the
 * directory of this library. */
static bool find_folder(char folder[PATH_MAX])
{
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !realpath(info.dli_fname, folder))
        return false;
    *strrchr(folder, '/') = '\0';
    *(strrchr(folder, '/') + 1) = '\0';
    return true;
}

/* Stores the real path of the libqmpi for a kind. Returns false if it is not installed. */
static bool find_installed_library(const char *folder, enum qmpi_mpi_kind kind, char path[PATH_MAX])
{
    char name[PATH_MAX];
    const int length =
        snprintf(name, sizeof name, "%slibqmpi%s.so.0", folder, qmpi_mpi_descriptions[kind].suffix);
    return length > 0 && length < PATH_MAX && realpath(name, path);
}

/* Returns the kind of MPI for which a preloaded library is built, or QMPI_MPI_UNKNOWN if it is not
 * a libqmpi in `folder`. */
static enum qmpi_mpi_kind kind_of_preloaded(const char *folder, const char *preloaded)
{
    char path[PATH_MAX], other[PATH_MAX];
    if (!strchr(preloaded, '/') || !realpath(preloaded, path))
        return QMPI_MPI_UNKNOWN;
    for (int kind = 0; kind < QMPI_MPI_KINDS; kind++) {
        if (find_installed_library(folder, (enum qmpi_mpi_kind)kind, other) && !strcmp(path, other))
            return (enum qmpi_mpi_kind)kind;
    }
    return QMPI_MPI_UNKNOWN;
}

/* Returns the new value of LD_PRELOAD: `library`, followed by the old value without libqmpis. The
 * caller frees it. Returns NULL if the right libqmpi is listed already or memory is exhausted. */
static char *make_value(const char *folder, const char *library, enum qmpi_mpi_kind wanted,
                        const char *old)
{
    char *rest = strdup(old), *saved = NULL;
    char *value = malloc(strlen(old) + strlen(library) + 2);
    bool has = false;
    if (rest && value) {
        strcpy(value, library);
        for (char *one = strtok_r(rest, separators, &saved); one && !has;
             one = strtok_r(NULL, separators, &saved)) {
            const enum qmpi_mpi_kind kind = kind_of_preloaded(folder, one);
            has = kind == wanted;
            if (kind == QMPI_MPI_UNKNOWN)
                strcat(strcat(value, ":"), one);
        }
    }
    free(rest);
    if (!has && rest)
        return value;
    free(value);
    return NULL;
}

/* ---- The program ----------------------------------------------------------------------------- */

static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;
    return !stat(one, &first) && !stat(other, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Stores the path of the program's file. The path by which the program was executed is preferred,
 * because the kernel names the process after it. It is not usable if it is that of a script. */
static bool find_program(char path[PATH_MAX])
{
    static const char link[] = "/proc/self/exe";
    const char *executed = (const char *)getauxval(AT_EXECFN); /* NOLINT: it is an address */
    if (executed && strlen(executed) < PATH_MAX && is_same_file(executed, link)) {
        strcpy(path, executed);
        return true;
    }
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return is_same_file(path, link);
}

/* Returns whether LD_PRELOAD, whose value is `value`, has preloaded this library. The result is
 * false if only /etc/ld.so.preload lists the library, and in a privileged program, which ignores
 * the variable. It is also false if the dynamic loader was started as a program (AT_BASE is 0),
 * because the program could not be executed again. */
static bool is_preloaded(const char *value)
{
    return value && strstr(value, "libqmpi-any.so") && getauxval(AT_BASE) && !getauxval(AT_SECURE);
}

static void report_missing(const char *folder, enum qmpi_mpi_kind kind)
{
    if (qmpi_getenv("QMPI_TOOLS") && qmpi_launcher_reports())
        qmpi_printf(
            "the program uses %s, but there is no libqmpi%s.so.0 in %s, so the "
            "program runs without tools\n  hint: install a build of qmpi for this MPI there",
            qmpi_mpi_descriptions[kind].name, qmpi_mpi_descriptions[kind].suffix, folder);
}

/* The C library passes these arguments to constructors. */
__attribute__((constructor)) static void choose(int count, char **arguments)
{
    char folder[PATH_MAX], library[PATH_MAX], program[PATH_MAX];
    const char *old = getenv(variable);
    if (count < 1 || !is_preloaded(old))
        return;
    const enum qmpi_mpi_kind kind = kind_of_program();
    if (kind == QMPI_MPI_UNKNOWN || !find_folder(folder))
        return;
    if (!find_installed_library(folder, kind, library)) {
        report_missing(folder, kind);
        return;
    }
    char *before = strdup(old), *value = before ? make_value(folder, library, kind, old) : NULL;
    if (value && find_program(program) && !setenv(variable, value, 1)) {
        execv(program, arguments);
        setenv(variable, before, 1);
    }
    free(value);
    free(before);
}
