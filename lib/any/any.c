/* SPDX-License-Identifier: MIT */
/*
 * libqmpi-any.so, a library that a site preloads for the programs of all MPIs. Before the program
 * begins, this library chooses the libqmpi for the program's MPI, puts that libqmpi first in
 * LD_PRELOAD, and executes the program again, in the same process. The program then runs as if the
 * right libqmpi had been preloaded. If it is preloaded already, or the program is linked with
 * another one, nothing is done. A program that has neither an MPI library nor a launcher runs on
 * without libqmpi. If the program starts other programs, the choice is made anew for each of them.
 *
 * Opening libqmpi with dlopen would not be enough: it would come after the MPI library in the
 * search order, so the program and other libraries would not call its functions.
 *
 * The constructors of the program's libraries run before this one, and again after the program has
 * been executed again. The flag `-z initfirst` would avoid this, but then, this library would call
 * functions of a sanitizer's library before that is ready, and AddressSanitizer ends the process.
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

/* Changes a path to that of the directory that contains its directory, with a slash at its end. */
static bool go_up(char path[PATH_MAX])
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    slash = strrchr(path, '/');
    if (slash)
        slash[1] = '\0';
    return slash != NULL;
}

/* Stores the directory that contains the libqmpis, with a slash at its end. It is the parent of the
 * directory of this library. The path by which this library was preloaded is preferred, because
 * the loader accepts it, and may not accept the path to which symbolic links in it lead. */
static bool find_folder(char folder[PATH_MAX])
{
    static const char here;
    char given[PATH_MAX];
    Dl_info info;
    if (!dladdr(&here, &info) || !realpath(info.dli_fname, folder) || !go_up(folder))
        return false;
    if (*info.dli_fname == '/' && strlen(info.dli_fname) < PATH_MAX &&
        go_up(strcpy(given, info.dli_fname)) && is_same_file(given, folder))
        strcpy(folder, given);
    return true;
}

/* Stores the path of the libqmpi for a kind. Returns false if it is not installed. */
static bool find_installed_library(const char *folder, enum qmpi_mpi_kind kind, char path[PATH_MAX])
{
    const int length =
        snprintf(path, PATH_MAX, "%slibqmpi%s.so.0", folder, qmpi_mpi_descriptions[kind].suffix);
    return length > 0 && length < PATH_MAX && access(path, F_OK) == 0;
}

static enum qmpi_mpi_kind kind_by_soname(const char *soname)
{
    char start[64];
    for (int kind = 0; soname && kind < QMPI_MPI_KINDS; kind++) {
        const int length =
            snprintf(start, sizeof start, "libqmpi%s.so.", qmpi_mpi_descriptions[kind].suffix);
        if (!strncmp(soname, start, (size_t)length))
            return (enum qmpi_mpi_kind)kind;
    }
    return QMPI_MPI_UNKNOWN;
}

/* Returns whether an entry of LD_PRELOAD means the loaded object of this name. */
static bool is_entry_for(const char *entry, const char *name)
{
    const char *slash = strrchr(name, '/');
    return !strcmp(entry, name) ||
           (strchr(entry, '/') ? is_same_file(entry, name) : slash && !strcmp(entry, slash + 1));
}

struct listed {
    const char *entry;
    bool is_libqmpi;
    enum qmpi_mpi_kind kind;
};

static int match_listed(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    struct listed *listed = data;
    (void)size;
    if (!qmpi_elf_loaded_read(info, &object) ||
        !qmpi_elf_loaded_find(&object, "QMPIX_Get_function") ||
        !is_entry_for(listed->entry, info->dlpi_name))
        return 0;
    listed->is_libqmpi = true;
    listed->kind = kind_by_soname(qmpi_elf_soname(&object.image));
    return 1;
}

/* Looks at an entry of LD_PRELOAD: whether it is a libqmpi, in `folder` or any other installation,
 * and for which MPI. */
static struct listed look_at_entry(const char *folder, const char *entry)
{
    struct listed listed = {entry, false, QMPI_MPI_UNKNOWN};
    char path[PATH_MAX];
    for (int kind = 0; kind < QMPI_MPI_KINDS; kind++) {
        if (strchr(entry, '/') && find_installed_library(folder, (enum qmpi_mpi_kind)kind, path) &&
            is_same_file(entry, path))
            return (struct listed){entry, true, (enum qmpi_mpi_kind)kind};
    }
    dl_iterate_phdr(match_listed, &listed);
    return listed;
}

/* Returns the new value of LD_PRELOAD: `library`, followed by the old value without libqmpis, two
 * of which would conflict. The caller frees it. Returns NULL if a libqmpi for the wanted MPI is
 * listed already or memory is exhausted. */
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
            const struct listed listed = look_at_entry(folder, one);
            has = listed.is_libqmpi && listed.kind == wanted;
            if (!listed.is_libqmpi)
                strcat(strcat(value, ":"), one);
        }
    }
    free(rest);
    if (!has && rest)
        return value;
    free(value);
    return NULL;
}

struct linked {
    const char *library, *old;
    bool found;
};

static bool is_listed(const char *list, const char *name)
{
    bool found = false;
    while (!found && *(list += strspn(list, separators))) {
        char entry[PATH_MAX];
        const size_t length = strcspn(list, separators);
        if (length < sizeof entry) {
            memcpy(entry, list, length);
            entry[length] = '\0';
            found = is_entry_for(entry, name);
        }
        list += length;
    }
    return found;
}

static int match_linked(struct dl_phdr_info *info, size_t size, void *data)
{
    struct qmpi_elf_loaded object;
    struct linked *linked = data;
    (void)size;
    linked->found = qmpi_elf_loaded_read(info, &object) &&
                    qmpi_elf_loaded_find(&object, "QMPIX_Get_function") &&
                    !is_same_file(info->dlpi_name, linked->library) &&
                    !is_listed(linked->old, info->dlpi_name);
    return linked->found;
}

/* Returns whether the program is linked with another libqmpi than `library`, for example the one of
 * a user's installation. The two would conflict. */
static bool has_other_libqmpi(const char *library, const char *old)
{
    struct linked linked = {library, old, false};
    dl_iterate_phdr(match_linked, &linked);
    return linked.found;
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

static bool reports(void)
{
    return qmpi_getenv("QMPI_TOOLS") && qmpi_launcher_reports();
}

/* Returns whether the library for the program can be preloaded. If not, reports this if the user
 * wants tools. */
static bool check_library(const char *folder, enum qmpi_mpi_kind kind, char library[PATH_MAX])
{
    const struct qmpi_mpi_description *mpi = &qmpi_mpi_descriptions[kind];
    if (!find_installed_library(folder, kind, library)) {
        if (reports())
            qmpi_printf("the program uses %s, but there is no libqmpi%s.so.0 in %s, so the program "
                        "runs without tools\n  hint: install a build of qmpi for this MPI there",
                        mpi->name, mpi->suffix, folder);
        return false;
    }
    if (!strpbrk(library, ": $"))
        return true;
    if (reports())
        qmpi_printf("%s cannot be preloaded: the dynamic loader would split or change its path, "
                    "which contains a space, a colon or a dollar sign, so the program runs without "
                    "tools\n  hint: install qmpi under another path",
                    library);
    return false;
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
    if (kind == QMPI_MPI_UNKNOWN || !find_folder(folder) || !check_library(folder, kind, library) ||
        has_other_libqmpi(library, old))
        return;
    char *value = make_value(folder, library, kind, old);
    if (value && find_program(program))
        execute(program, arguments, environment, value);
    free(value);
}
