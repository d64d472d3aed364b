/* SPDX-License-Identifier: MIT */
/*
 * A program that leaves no room for the output of tools, closes their descriptors, or checks the
 * floating-point environment. Its arguments are steps. At the end, it prints how many files of its
 * own it has opened, and how many of them do not contain what it has written to them.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 64, DESCRIPTORS = 64, CALLS = 50 };
static const char line[] = "mine\n";
static int rank, files[FILES], lines[FILES], file_count;

static void fail(const char *what)
{
    printf("cannot %s: %s\n", what, strerror(errno));
    exit(1);
}

static void open_file(void)
{
    char name[64];
    snprintf(name, sizeof name, "mine.%d.%d", getpid(), file_count);
    const int file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0666);
    if (file < 0)
        fail("open a file");
    unlink(name);
    lines[file_count] = 0;
    files[file_count++] = file;
}

static void write_files(void)
{
    for (int i = 0; i < file_count; i++) {
        if (write(files[i], line, sizeof line - 1) != sizeof line - 1)
            fail("write");
        lines[i]++;
    }
}

static void check_files(void)
{
    int changed = 0;
    for (int i = 0; i < file_count; i++) {
        char found[4096] = "", expected[4096] = "";
        for (int k = 0; k < lines[i]; k++)
            strcat(expected, line);
        const ssize_t length = pread(files[i], found, sizeof found - 1, 0);
        changed += length < 0 || strcmp(found, expected) != 0;
    }
    printf("files: %d, changed: %d\n", file_count, changed);
}

/* Closes each descriptor of a regular file that a tool or library has opened, except shared memory,
 * and opens a file of the program with the same number. */
static void take_descriptors(void)
{
    const int last = (int)sysconf(_SC_OPEN_MAX) - 1;
    for (int i = 3; i <= last; i++) {
        struct stat status;
        char path[64], name[256] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        if (fstat(i, &status) || !S_ISREG(status.st_mode) ||
            readlink(path, name, sizeof name - 1) < 0 || strstr(name, "shm") ||
            strstr(name, "memfd") || strstr(name, "mine"))
            continue;
        open_file();
        if (dup2(files[file_count - 1], i) != i)
            fail("take a descriptor");
    }
}

static void call(int level)
{
    static char bytes[16];
    double real = 0.1;
    for (int i = 0; i < CALLS; i++) {
        int mine = i, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&real, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Sendrecv(bytes, 8, MPI_CHAR, rank, 0, bytes + 8, 8, MPI_CHAR, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Pcontrol(1, "region");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(-1, "region");
    }
    MPI_Pcontrol(level);
    write_files();
}

static void limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = soft;
    if (hard)
        limit.rlim_max = hard;
    if (setrlimit(resource, &limit))
        fail("set a limit");
}

static void use_up(void)
{
    while (dup(STDIN_FILENO) >= 0)
        continue;
}

static void step(const char *name, int *argc, char ***argv)
{
    if (!strcmp(name, "init")) {
        MPI_Init(argc, argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    } else if (!strcmp(name, "finalize")) {
        MPI_Finalize();
    } else if (!strcmp(name, "call")) {
        call(3);
    } else if (!strcmp(name, "snapshot")) {
        call(2);
    } else if (!strcmp(name, "file")) {
        open_file();
        write_files();
    } else if (!strcmp(name, "close-stderr")) {
        close(STDERR_FILENO);
    } else if (!strcmp(name, "take-descriptors")) {
        take_descriptors();
    } else if (!strcmp(name, "other-directory")) {
        if (chdir("/"))
            fail("go to another directory");
    } else if (!strcmp(name, "small-files")) {
        limit(RLIMIT_FSIZE, 512, 0);
    } else if (!strcmp(name, "few-descriptors")) {
        limit(RLIMIT_NOFILE, DESCRIPTORS, 0);
    } else if (!strcmp(name, "few-for-ever")) {
        limit(RLIMIT_NOFILE, DESCRIPTORS, DESCRIPTORS);
    } else if (!strcmp(name, "use-up")) {
        use_up();
    } else if (!strcmp(name, "no-flags")) {
        feclearexcept(FE_ALL_EXCEPT);
    } else if (!strcmp(name, "flags")) {
        printf("flags: %d\n", fetestexcept(FE_ALL_EXCEPT));
    } else if (!strcmp(name, "traps")) {
        feenableexcept(FE_ALL_EXCEPT);
    } else if (!strcmp(name, "fault")) {
        volatile char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *page = 1;
    } else if (!strcmp(name, "inexact")) {
        fedisableexcept(FE_INEXACT);
    } else {
        fail(name);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        step(argv[i], &argc, &argv);
    check_files();
    return 0;
}
