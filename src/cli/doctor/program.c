/* SPDX-License-Identifier: MIT */
/*
 * See doctor.h: the file that is to be run. Whether preloading can reach it, which MPI library the
 * dynamic loader would give it, and in which ways it calls MPI. Its code does not run.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
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

/* ---- What kind of file ----------------------------------------------------------------------- */

bool doctor_is_launcher(const char *path)
{
    static const char *const launchers[] = {"mpiexec", "mpirun", "orterun", "prterun",
                                            "prun",    "srun",   "aprun",   "jsrun"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strcspn(name, "."); /* mpiexec.hydra, mpirun.openmpi */
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (strlen(launchers[i]) == length && !strncmp(launchers[i], name, length))
            return true;
    }
    return false;
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
    else if (access(path, X_OK) != 0 || !(status.st_mode & 0111))
        doctor_wrong("%s is not executable\nhint: chmod +x %s", name, path);
    else
        return true;
    return false;
}

/* Says what a script is started by; true: it is one, or no program at all. */
static bool is_script(const char *path)
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
    doctor_note("%s is a script, run by %s: the programs that it starts inherit the stack\n"
                "hint: to examine one of these programs, run `qmpi doctor -- PROGRAM`",
                path, start + 2 + strspn(start + 2, " "));
    return true;
}

/* ---- What it is made of ---------------------------------------------------------------------- */

struct whole {
    struct doctor_object all; /* the program and its libraries, without those of MPI and of qmpi */
    char *mpi;                /* the MPI library's file; NULL: none */
    char *mpi_name;           /* as it is needed */
    enum qmpi_mpi_kind kind;  /* of this library */
    bool two, qmpi, incomplete;
    bool loads; /* the program itself loads libraries */
};

static void merge(struct doctor_object *all, const struct doctor_object *one)
{
    all->calls_c |= one->calls_c;
    all->calls_mpif |= one->calls_mpif;
    all->calls_f08 |= one->calls_f08;
    all->loads |= one->loads;
    all->names_mpi |= one->names_mpi;
}

static void add_library(struct whole *whole, const char *name, const char *path)
{
    struct doctor_object object = doctor_object_read(path, false);
    whole->qmpi |= object.qmpi;
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
        merge(&whole->all, &object);
        if (object.pmpi_tool && !doctor_is_listed(path) && !doctor_is_preloaded(path))
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
    char *problem = doctor_libraries(path, add_line, whole);
    if (problem) {
        doctor_wrong("%-s", problem);
        whole->incomplete = true;
    }
    free(problem);
}

/* ---- How it reaches MPI ---------------------------------------------------------------------- */

/* The number after .so: libraries of one kind with the same number have one ABI, whatever their
 * names: libmpich.so.12, libmpi.so.12, libmpi_cray.so.12. */
static const char *abi_of(const char *name)
{
    const char *version = strstr(name, ".so.");
    return version ? version : name;
}

static void look_at_mpi(const struct whole *whole)
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
    const char *name =
        strrchr(whole->mpi_name, '/') ? strrchr(whole->mpi_name, '/') + 1 : whole->mpi_name;
    char *other = strcmp(build, QMPI_MPI) ? cli_find_library(build) : NULL;
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
        doctor_look_at_functions(whole->mpi);
    free(other);
}

static void look_at_languages(const struct whole *whole)
{
    const struct doctor_object *all = &whole->all;
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
    char *obstacle = cli_program_obstacle(path);
    struct whole whole = {.mpi = NULL};
    if (obstacle)
        doctor_wrong("%-s", obstacle);
    struct doctor_object program = doctor_object_read(path, true);
    if (program.problem && (!obstacle || strstr(obstacle, "privileged")))
        doctor_wrong("%s: %s\n"
                     "hint: give an intact program for this machine",
                     path, program.problem);
    if (!program.problem) {
        whole.qmpi = program.qmpi;
        whole.loads = program.loads;
        merge(&whole.all, &program);
        read_libraries(&whole, path);
        if (whole.mpi)
            look_at_mpi(&whole);
        else if (program.holds_static && program.qmpi)
            doctor_ok("the program contains the MPI library and libqmpi: the tools see its calls, "
                      "except those through Fortran's module mpi_f08");
        else if (program.holds_static && !whole.qmpi)
            doctor_wrong(
                "%s contains a static MPI library: its calls do not pass through libqmpi.so\n"
                "hint: link it with the shared MPI library, or also with libqmpi.a",
                path);
        else
            look_at_absence(&whole, path);
        look_at_languages(&whole);
        if (whole.mpi && whole.qmpi && !doctor_is_preloaded(cli_library_path()))
            doctor_ok("the program is linked with libqmpi");
    }
    free(whole.mpi);
    free(whole.mpi_name);
    free(program.problem);
    free(obstacle);
}

void doctor_look_at_program(const char *name)
{
    char *found = cli_program_find(name);
    char *path = found ? realpath(found, NULL) : NULL;
    if (!found)
        doctor_wrong("program '%s' not found in PATH\nhint: correct the name, or give its path",
                     name);
    else if (!may_be_run(name, found) || !path)
        ; /* said */
    else if (doctor_is_launcher(found[0] == '/' || strchr(found, '/') ? found : path))
        doctor_note("%s is a launcher: the programs that it starts inherit the stack\n"
                    "hint: to examine the program, run `qmpi doctor -- PROGRAM`",
                    found);
    else if (!is_script(path))
        look_at_elf(path);
    free(path);
    free(found);
}
