/* SPDX-License-Identifier: MIT */
/* See doctor.h. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "cli/program.h"
#include "generate/build.h"
#include "util/util.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Functions of the program's MPI library -------------------------------------------------- */

enum { NAMED = 8 }; /* More names would hide the other findings. */

struct names {
    int count;
    char *text; /* the first NAMED names, separated by blanks */
};

static void note_difference(void *data, int number, const char *name, bool provided)
{
    struct names *names = &((struct names *)data)[provided];
    (void)number;
    if (++names->count > NAMED)
        return;
    char *longer =
        qmpi_format("%s%s%s", names->text ? names->text : "", names->text ? " " : "", name);
    free(names->text);
    names->text = longer;
}

static const char *more_names(const struct names *names)
{
    return names->count > NAMED ? " ... (`qmpi functions PROGRAM` lists all)" : "";
}

/* Prints the functions in which the program's MPI library and libqmpi differ. */
static void look_at_functions(const char *library)
{
    struct names lacking_and_more[2] = {{.count = 0}, {.count = 0}};
    const struct names *lacking = &lacking_and_more[false], *more = &lacking_and_more[true];
    if (program_compare_functions(library, note_difference, lacking_and_more))
        return; /* The problem was reported when the program was read. */
    if (lacking->count)
        doctor_note(
            "%s lacks functions of the MPI library with which this libqmpi was built (%d); a "
            "program that calls one of them ends with a message: %s%s",
            library, lacking->count, lacking->text, more_names(lacking));
    if (more->count)
        doctor_note(
            "%s has functions beyond the MPI library with which this libqmpi was built (%d), "
            "whose calls the tools do not see: %s%s\n"
            "hint: build qmpi with this MPI library",
            library, more->count, more->text, more_names(more));
    free(lacking->text);
    free(more->text);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void refuse_mode(const char *name, const char *path)
{
    char *word = cli_quote(path);
    doctor_wrong("%s is not executable\nhint: chmod +x %s", name, word);
    free(word);
}

static bool may_be_run(const char *name, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        doctor_wrong("%s: %s\nhint: correct the path", name, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        doctor_wrong("%s is a directory\n"
                     "hint: give the path of the program",
                     name);
    else if (!S_ISREG(status.st_mode))
        doctor_wrong("%s is not a regular file\n"
                     "hint: give the path of the program",
                     name);
    else if (access(path, X_OK) != 0 || !(status.st_mode & 0111))
        refuse_mode(name, path);
    else
        return true;
    return false;
}

/* Reports a script, of which `command` is the first line without `#!`. */
static void report_interpreter(const char *path, const char *command)
{
    char *interpreter = qmpi_copy_part(command, strcspn(command, " \t"));
    if (access(interpreter, X_OK) != 0)
        doctor_wrong("%s is a script, run by '%s': %s\n"
                     "hint: correct its first line, or install this program",
                     path, interpreter, strerror(errno));
    else
        doctor_note("%s is a script, run by %s: the programs that it starts inherit the stack\n"
                    "hint: to examine one of these programs, run `qmpi doctor -- PROGRAM`",
                    path, command);
    free(interpreter);
}

/* Reports a file that is a script, cannot be read, or is no program at all. Returns whether it is
 * such a file. */
static bool report_script(const char *path)
{
    char start[256] = "";
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 || read(descriptor, start, sizeof start - 1) < 0) {
        doctor_note("%s cannot be read, so its type is unknown", path);
        if (descriptor >= 0)
            close(descriptor);
        return true;
    }
    close(descriptor);
    if (!memcmp(start, ELFMAG, SELFMAG))
        return false;
    if (strncmp(start, "#!", 2) != 0) {
        doctor_wrong("%s is neither a program for this machine nor a script\n"
                     "hint: give the program that calls MPI",
                     path);
        return true;
    }
    start[strcspn(start, "\n")] = '\0';
    report_interpreter(path, start + 2 + strspn(start + 2, " \t"));
    return true;
}

/* ---- Its libraries --------------------------------------------------------------------------- */

struct whole {
    struct program_object all; /* the program and its libraries, except those of MPI and of qmpi */
    char *mpi;                 /* the file of the MPI library, or NULL if there is none */
    char *mpi_name;            /* its name in DT_NEEDED */
    enum qmpi_mpi_kind kind;   /* the kind of the MPI library */
    /* There are two MPI libraries; the program or a library is or contains libqmpi; a library is
     * missing or damaged. */
    bool two, qmpi, incomplete;
    bool loads;      /* the program itself loads libraries */
    char *sanitizer; /* the file of the sanitizer's library that the program needs, or NULL */
};

static void add_uses(struct program_object *all, const struct program_object *one)
{
    all->calls_c |= one->calls_c;
    all->calls_mpif |= one->calls_mpif;
    all->calls_f08 |= one->calls_f08;
    all->calls_init |= one->calls_init;
    all->calls_init_thread |= one->calls_init_thread;
    all->loads |= one->loads;
    all->names_mpi |= one->names_mpi;
}

/* Returns whether LD_PRELOAD names a file. The dynamic loader lists it among the libraries of the
 * program, too. */
static bool is_from_preload(const char *path)
{
    const char *list = getenv("LD_PRELOAD");
    char *real = realpath(path, NULL);
    bool is = false;
    for (char *entry; !is && (entry = cli_next_part(&list, " :"));) {
        char *other = strchr(entry, '/') ? realpath(entry, NULL) : NULL;
        is = other ? real && !strcmp(real, other) : !strcmp(entry, qmpi_text_base_name(path));
        free(other);
        free(entry);
    }
    free(real);
    return is;
}

static void add_library(struct whole *whole, const char *name, const char *path)
{
    if (qmpi_runtime_is_sanitizer(qmpi_text_base_name(name))) {
        free(whole->sanitizer);
        whole->sanitizer = qmpi_copy(path);
        return;
    }
    struct program_object object = program_object_read(path, false);
    whole->qmpi |= object.qmpi && !is_from_preload(path);
    if (object.problem) {
        doctor_wrong("the library %s, which the program needs: %s\n"
                     "hint: reinstall it",
                     path, object.problem);
        whole->incomplete = true;
    } else if (object.mpi_library) {
        whole->two |= whole->mpi != NULL;
        if (whole->two)
            doctor_wrong("the program loads two MPI libraries, %s and %s\n"
                         "hint: link the program and its libraries with only one of them",
                         whole->mpi, path);
        else {
            whole->mpi = qmpi_copy(path);
            whole->mpi_name = qmpi_copy(name);
            whole->kind = object.kind;
        }
    } else if (!object.binding && !object.qmpi) {
        add_uses(&whole->all, &object);
        if (object.pmpi_tool && !doctor_is_listed(path) && !program_is_preloaded(path))
            doctor_note("the program is linked with %s, a PMPI tool that is not in the stack: it "
                        "becomes a layer anyway\n"
                        "hint: list it at its position in the stack",
                        path);
    }
    free(object.problem);
}

static void add_line(void *data, const char *name, const char *path)
{
    struct whole *whole = data;
    if (path) {
        add_library(whole, name, path);
    } else {
        doctor_wrong("the library %s, which the program needs, was not found\n"
                     "hint: install it, or add its directory to LD_LIBRARY_PATH",
                     name);
        whole->incomplete = true;
    }
}

static void read_libraries(struct whole *whole, const char *path)
{
    char *problem = program_libraries(path, add_line, whole);
    if (problem) {
        doctor_wrong("%-s", problem);
        whole->incomplete = true;
    }
    free(problem);
}

/* ---- Its calls of MPI ------------------------------------------------------------------------ */

/* Returns the number after .so. Libraries of one MPI with the same number have the same ABI, even
 * if their names differ, such as libmpich.so.12, libmpi.so.12 and libmpi_cray.so.12. */
static const char *abi_of(const char *name)
{
    const char *version = strstr(name, ".so.");
    return version ? version : name;
}

static void look_at_program_mpi(const struct whole *whole)
{
    if (whole->kind == QMPI_MPI_UNKNOWN) {
        doctor_wrong(
            "the program uses %s, which is neither MPICH nor Open MPI, nor has the standard "
            "ABI\n"
            "hint: run the program without tools, or build it with one of these",
            whole->mpi);
        return;
    }
    const struct qmpi_mpi_description *mpi = &qmpi_mpi_descriptions[whole->kind];
    const char *build = mpi->build;
    const char *name = qmpi_text_base_name(whole->mpi_name);
    char *other = strcmp(build, QMPI_MPI) ? cli_build_find_library(build) : NULL;
    if (other)
        doctor_ok("the program uses %s (%s): `qmpi run` uses %s and the tools installed with it",
                  mpi->name, whole->mpi, other);
    else if (strcmp(build, QMPI_MPI) != 0)
        doctor_wrong("the program uses %s (%s), but this libqmpi was built for %s\n"
                     "hint: build and install qmpi for this MPI as well: meson setup -Dmpi=%s",
                     mpi->name, whole->mpi, QMPI_MPI, build);
    else if (whole->kind != QMPI_MPI_ABI && strcmp(abi_of(name), abi_of(QMPI_MPI_SONAME)) != 0)
        doctor_wrong(
            "the program uses %s, but this libqmpi was built for %s, which has a different ABI\n"
            "hint: build qmpi with the program's MPI",
            whole->mpi, QMPI_MPI_SONAME);
    else
        doctor_ok("the program uses the MPI library for which this libqmpi was built: %s",
                  whole->mpi);
    if (!strcmp(build, QMPI_MPI))
        look_at_functions(whole->mpi);
    free(other);
}

static void look_at_languages(const struct whole *whole)
{
    const struct program_object *all = &whole->all;
    if (all->calls_c)
        doctor_ok("the program calls MPI from C or C++: the tools see every call");
    if (all->calls_mpif)
        doctor_ok("the program calls MPI from Fortran, through mpif.h or the module mpi: the tools "
                  "see every call");
    if (all->calls_f08)
        doctor_ok("the program calls MPI from Fortran, through the module mpi_f08: libqmpi "
                  "redirects the calls of this binding, so the tools see every call");
    if (whole->mpi && whole->loads)
        doctor_note("the program also loads libraries with dlopen: the tools see their MPI calls, "
                    "unless they are opened with RTLD_DEEPBIND");
}

static void look_at_sanitizer(const struct whole *whole, bool sets_asan)
{
    if (whole->sanitizer && sets_asan)
        doctor_note(
            "the program uses %s, a sanitizer's library, and defines " QMPI_SANITIZER_FUNCTION
            ": `qmpi run` sets ASAN_OPTIONS=" QMPI_SANITIZER_OPTION
            ", without which AddressSanitizer does not accept libqmpi in front of its "
            "library\n"
            "hint: without `qmpi run`, set this variable, too",
            whole->sanitizer);
    else if (whole->sanitizer)
        doctor_ok("the program uses %s, a sanitizer's library: libqmpi precedes it, and tells "
                  "AddressSanitizer to accept that",
                  whole->sanitizer);
}

static void look_at_absence(const struct whole *whole, const char *path)
{
    if (whole->qmpi)
        doctor_ok("the program is linked with libqmpi, which loads the MPI library");
    else if (whole->all.loads && whole->all.names_mpi)
        doctor_ok("the program loads the MPI library with dlopen: libqmpi redirects dlsym, so the "
                  "tools see every call");
    else if (whole->all.loads)
        doctor_note("the program is not linked with MPI, but loads libraries with dlopen: if the "
                    "MPI library is among them, the tools see every call");
    else if (!whole->incomplete)
        doctor_wrong("%s does not use MPI: it neither needs nor loads an MPI library\n"
                     "hint: give the MPI program itself, not the command that starts it",
                     path);
}

static void look_at_elf(const char *path)
{
    char *obstacle = program_obstacle(path);
    struct whole whole = {.mpi = NULL};
    if (obstacle)
        doctor_wrong("%-s", obstacle);
    struct program_object program = program_object_read(path, true);
    if (program.problem && (!obstacle || strstr(obstacle, "privileged")))
        doctor_wrong("%s: %s\n"
                     "hint: give an intact program for this machine",
                     path, program.problem);
    if (!program.problem) {
        whole.qmpi = program.qmpi;
        whole.loads = program.loads;
        add_uses(&whole.all, &program);
        read_libraries(&whole, path);
        if (whole.mpi)
            look_at_program_mpi(&whole);
        else if (program.has_static_mpi && program.qmpi)
            doctor_ok("the program contains the MPI library and libqmpi: the tools see its calls, "
                      "except those through Fortran's module mpi_f08");
        else if (program.has_static_mpi && !whole.qmpi)
            doctor_wrong(
                "%s contains a static MPI library: its calls do not pass through libqmpi.so\n"
                "hint: link it with the shared MPI library, or also with libqmpi.a and "
                "-Wl,--export-dynamic",
                path);
        else
            look_at_absence(&whole, path);
        look_at_languages(&whole);
        if (whole.all.calls_init != whole.all.calls_init_thread)
            doctor_check_start(whole.all.calls_init ? "MPI_Init" : "MPI_Init_thread");
        look_at_sanitizer(&whole, program.sets_asan);
        if (whole.mpi && whole.qmpi)
            doctor_ok("the program is linked with libqmpi");
    }
    free(whole.mpi);
    free(whole.mpi_name);
    free(whole.sanitizer);
    free(program.problem);
    free(obstacle);
}

void doctor_look_at_program(const char *name)
{
    char *found = program_find(name);
    char *path = found ? realpath(found, NULL) : NULL;
    if (!found)
        doctor_wrong("program '%s' not found in PATH\nhint: correct the name, or give its path",
                     name);
    else if (!may_be_run(name, found) || !path)
        ; /* may_be_run has reported the problem. */
    else if (program_is_launcher(found[0] == '/' || strchr(found, '/') ? found : path))
        doctor_note("%s is a launcher: the programs that it starts inherit the stack\n"
                    "hint: to examine the program, run `qmpi doctor -- PROGRAM`",
                    found);
    else if (!report_script(path))
        look_at_elf(path);
    free(path);
    free(found);
}
