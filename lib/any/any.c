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
 *
 * The program may define functions of the C library, as bash defines getenv, setenv and unsetenv,
 * and these are called here, too, before the program is ready. Therefore, the environment is read
 * and changed without them.
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char variable[] = "LD_PRELOAD", separators[] = ": ";

/* ---- The environment ------------------------------------------------------------------------- */

/* A program that is executed again has this variable, with its process and its name, until this
 * library has seen it. It is then not executed a third time, whatever LD_PRELOAD is. */
static const char mark[] = "QMPI_ANY_AGAIN";

enum { NAME_SIZE = 16 }; /* of the name of a process */

/* Returns the value of an entry of the environment if this is its name, or NULL. */
static char *value_of(char *entry, const char *name)
{
    const size_t length = strlen(name);
    return !strncmp(entry, name, length) && entry[length] == '=' ? entry + length + 1 : NULL;
}

static char *find_variable(char **environment, const char *name)
{
    char *value = NULL;
    for (; *environment && !value; environment++)
        value = value_of(*environment, name);
    return value;
}

static void remove_variable(char **environment, const char *name)
{
    char **to = environment;
    for (; *environment; environment++) {
        if (!value_of(*environment, name))
            *to++ = *environment;
    }
    *to = NULL;
}

/* Removes the mark. Returns whether this library has executed the program again. If so, gives the
 * process the name back that it had before. */
static bool take_mark(char **environment)
{
    const char *value = find_variable(environment, mark);
    char *name;
    if (!value)
        return false;
    const bool is_again = strtol(value, &name, 10) == getpid() && *name == ' ';
    remove_variable(environment, mark);
    if (environ && environ != environment) /* a constructor has added a variable */
        remove_variable(environ, mark);
    if (is_again)
        prctl(PR_SET_NAME, name + 1);
    return is_again;
}

/* Executes the program with another value of LD_PRELOAD. Returns if this fails. */
static void execute(const char *program, char **arguments, char **environment, const char *preload)
{
    char name[NAME_SIZE + 1] = "", marked[sizeof mark + NAME_SIZE + 32];
    size_t count = 0, kept = 0;
    while (environment[count])
        count++;
    char **changed = malloc((count + 3) * sizeof *changed);
    char *entry = malloc(sizeof variable + 1 + strlen(preload));
    if (changed && entry) {
        prctl(PR_GET_NAME, name);
        sprintf(marked, "%s=%d %s", mark, (int)getpid(), name);
        sprintf(entry, "%s=%s", variable, preload);
        for (size_t i = 0; i < count; i++) {
            if (!value_of(environment[i], variable))
                changed[kept++] = environment[i];
        }
        changed[kept] = entry;
        changed[kept + 1] = marked;
        changed[kept + 2] = NULL;
        execve(program, arguments, changed);
    }
    free(entry);
    free(changed);
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;
    return !stat(one, &first) && !stat(other, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

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

/* Stores the path of the program's file. The path by which the program was executed is preferred,
 * because the program may ask for it. It is not usable if it is that of a script. The link itself
 * leads to a file that has no path (memfd_create) or has been deleted. In an emulator, it may lead
 * to the emulator, but then, the kernel's words are not at its end. */
static bool find_program(char path[PATH_MAX])
{
    static const char link[] = "/proc/self/exe", deleted[] = " (deleted)";
    const char *executed = (const char *)getauxval(AT_EXECFN); /* NOLINT: it is an address */
    if (executed && strlen(executed) < PATH_MAX && is_same_file(executed, link)) {
        strcpy(path, executed);
        return true;
    }
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    if (is_same_file(path, link))
        return true;
    const size_t end = sizeof deleted - 1;
    if ((size_t)length < end || strcmp(path + length - end, deleted) != 0)
        return false;
    strcpy(path, link);
    return true;
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

/* The C library passes these arguments to constructors. The environment is that with which the
 * process began: what constructors of the program's libraries have added is left out, because they
 * run again. */
__attribute__((constructor)) static void choose(int count, char **arguments, char **environment)
{
    char folder[PATH_MAX], library[PATH_MAX], program[PATH_MAX];
    if (count < 1 || take_mark(environment))
        return;
    const char *old = find_variable(environment, variable);
    if (!is_preloaded(old))
        return;
    const enum qmpi_mpi_kind kind = kind_of_program();
    if (kind == QMPI_MPI_UNKNOWN || !find_folder(folder))
        return;
    if (!find_installed_library(folder, kind, library)) {
        report_missing(folder, kind);
        return;
    }
    char *value = make_value(folder, library, kind, old);
    if (value && find_program(program))
        execute(program, arguments, environment, value);
    free(value);
}
