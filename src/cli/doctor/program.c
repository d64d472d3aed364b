/* SPDX-License-Identifier: MIT */
/*
 * See doctor.h: the file that is to be run. Whether preloading can reach it, which MPI library the
 * dynamic loader would give it, and in which ways it calls MPI. Its code does not run.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "generate/build.h"
#include "util/message.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What kind of file --------------------------------------------------------------------------
 */

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
        doctor_wrong("%s is a directory\nhint: give the program in it", name);
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
        doctor_note("%s cannot be read: what it is cannot be seen", path);
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
    doctor_note("%s is a script, run by %s: whatever it starts inherits the stack\n"
                "hint: to look at a program that it starts: qmpi doctor -- PROGRAM",
                path, start + 2 + strspn(start + 2, " "));
    return true;
}

/* ---- What it is made of -------------------------------------------------------------------------
 */

struct whole {
    struct doctor_object all; /* the program and its libraries, without those of MPI and of qmpi */
    char *mpi;                /* the MPI library's file; NULL: none */
    char *mpi_name;           /* as it is needed */
    bool open_mpi, two, qmpi, incomplete;
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
        doctor_wrong("%s, which it needs: %s\nhint: install it again", path, object.problem);
        whole->incomplete = true;
    } else if (object.mpi_library) {
        whole->two |= whole->mpi != NULL;
        if (whole->two)
            doctor_wrong("it loads two MPI libraries, %s and %s\nhint: link it, and what it needs, "
                         "with one of them",
                         whole->mpi, path);
        else {
            whole->mpi = qmpi_copy(path);
            whole->mpi_name = qmpi_copy(name);
            whole->open_mpi = object.open_mpi;
        }
    } else if (!object.binding && !object.qmpi) {
        merge(&whole->all, &object);
        if (object.pmpi_tool && !doctor_is_listed(path) && !doctor_is_preloaded(path))
            doctor_note("%s, which it is linked with, is a PMPI tool that is not in the stack: it "
                        "becomes a layer all the same\nhint: list it where it should stand",
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
        doctor_wrong("the library %s, which it needs, is not found\nhint: install it, or put its "
                     "folder into LD_LIBRARY_PATH",
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

/* ---- How it reaches MPI -------------------------------------------------------------------------
 */

static void look_at_mpi(const struct whole *whole)
{
    const char *dependencies = whole->open_mpi ? "openmpi" : "mpich";
    const char *name =
        strrchr(whole->mpi_name, '/') ? strrchr(whole->mpi_name, '/') + 1 : whole->mpi_name;
    char *other = strcmp(dependencies, QMPI_MPI) ? cli_find_library(dependencies) : NULL;
    if (other)
        doctor_ok("it runs on %s (%s): qmpi run takes %s for it, and the tools beside that",
                  whole->open_mpi ? "Open MPI" : "MPICH", whole->mpi, other);
    else if (strcmp(dependencies, QMPI_MPI) != 0)
        doctor_wrong("it runs on %s (%s), but this libqmpi was built for %s\n"
                     "hint: build and install qmpi for it, too: meson setup -Dmpi=%s",
                     whole->open_mpi ? "Open MPI" : "MPICH", whole->mpi, QMPI_MPI, dependencies);
    else if (strcmp(name, QMPI_MPI_SONAME) != 0)
        doctor_wrong("it runs on %s, but this libqmpi was built for %s: another ABI\n"
                     "hint: build qmpi with the program's MPI",
                     whole->mpi, QMPI_MPI_SONAME);
    else
        doctor_ok("it runs on the MPI that this libqmpi was built for: %s", whole->mpi);
    free(other);
}

static void look_at_languages(const struct whole *whole)
{
    const struct doctor_object *all = &whole->all;
    if (all->calls_c)
        doctor_ok("it calls MPI from C or C++: the tools see every call");
    if (all->calls_mpif)
        doctor_ok("it calls MPI from Fortran, by mpif.h or the module mpi: the tools see every "
                  "call");
    if (all->calls_f08)
        doctor_ok("it calls MPI from Fortran, by the module mpi_f08: libqmpi leads the binding's "
                  "calls to the tools, which see every call");
    if (whole->mpi && whole->loads)
        doctor_note("it also loads libraries by dlopen: their MPI calls are seen, but for those "
                    "opened with RTLD_DEEPBIND");
}

static void look_at_absence(const struct whole *whole, const char *path)
{
    if (whole->qmpi)
        doctor_ok("it is linked with libqmpi, which brings its MPI library");
    else if (whole->all.loads && whole->all.names_mpi)
        doctor_ok("it loads the MPI library by dlopen: what dlsym finds there leads to the tools, "
                  "which see every call");
    else if (whole->all.loads)
        doctor_note("it is not linked with MPI, but loads libraries by dlopen: if the MPI library "
                    "is among them, the tools see every call");
    else if (!whole->incomplete)
        doctor_wrong("%s does not use MPI: no library of its own is MPI's, and it loads none\n"
                     "hint: give the MPI program itself, not what starts it",
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
        doctor_wrong("%s: %s\nhint: give a program that is whole and for this machine", path,
                     program.problem);
    if (!program.problem) {
        whole.qmpi = program.qmpi;
        whole.loads = program.loads;
        merge(&whole.all, &program);
        read_libraries(&whole, path);
        if (whole.mpi)
            look_at_mpi(&whole);
        else if (program.holds_static && program.qmpi)
            doctor_ok(
                "it holds the MPI library and libqmpi: the tools see its calls, but not those "
                "of Fortran's mpi_f08");
        else if (program.holds_static && !whole.qmpi)
            doctor_wrong("%s holds the MPI library itself: its calls do not lead through "
                         "libqmpi.so\nhint: link it with the shared MPI library, or with "
                         "libqmpi.a, too",
                         path);
        else
            look_at_absence(&whole, path);
        look_at_languages(&whole);
        if (whole.mpi && whole.qmpi && !doctor_is_preloaded(cli_library_path()))
            doctor_ok("it is linked with libqmpi");
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
                    "hint: to look at the program: qmpi doctor -- PROGRAM",
                    found);
    else if (!is_script(path))
        look_at_elf(path);
    free(path);
    free(found);
}
