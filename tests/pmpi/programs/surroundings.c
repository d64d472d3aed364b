/* SPDX-License-Identifier: MIT */
/*
 * An application that examines its own process between MPI calls. Its arguments are steps. Before
 * each step, it prints `trace: app STEP` on stderr; most steps print their results on stdout.
 *   initialized, init, comm_rank, barrier, pcontrol, finalize   make MPI calls
 *   abort_one        rank 0 calls MPI_Abort
 *   getenv=NAME, getppid, open=FILE, fopen=FILE   call these functions
 *   wait             waits for any child
 *   children         prints how many SIGCHLD have arrived since the first such step
 *   fork             forks a child and waits for it
 *   list=FOLDER      prints the number of entries in a directory (see `counts`)
 *   replace=FOLDER   renames the entries of a directory, and creates directories with their old
 *                    names (see `replace_entries`)
 *   close            closes all file descriptors but the standard ones
 *   read             reads a character from stdin
 *   names, maps      print what dlsym finds for some names, and the mapped files
 *   kill, leave      end the process by SIGKILL, and by _exit
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *library_of(const void *address)
{
    Dl_info info;
    if (!address || !dladdr(address, &info))
        return "nowhere";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

/* Hidden entries do not count, nor does the directory that Open MPI creates for its jobs. */
static int counts(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strncmp(entry->d_name, "ompi.", 5) != 0;
}

static int count_entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        count += counts(entry);
    if (folder)
        closedir(folder);
    return count;
}

static void wait_for_anybody(void)
{
    errno = 0;
    const pid_t child = wait(NULL);
    printf("wait: %s\n", child > 0 ? "a child" : errno == ECHILD ? "no child" : strerror(errno));
}

static volatile sig_atomic_t children;

static void note_child(int number)
{
    (void)number;
    children++;
}

static void count_children(void)
{
    signal(SIGCHLD, note_child);
    printf("children: %d\n", (int)children);
}

/* The child ends by exit, which runs its exit handlers. */
static void fork_and_wait(void)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        exit(7);
    int status = 0;
    const pid_t ended = wait(&status);
    printf("fork: %s, status %d\n", ended == child ? "its own child" : "another child",
           WEXITSTATUS(status));
}

/* Renames the entries of the directory `path` that counts() accepts, except for those that it has
 * already renamed. In place of each, creates a directory of the old name, with a file in it. */
static void replace_entries(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char *made, *moved, *file;
        if (!counts(entry) || !strncmp(entry->d_name, "moved-", 6))
            continue;
        if (asprintf(&made, "%s/%s", path, entry->d_name) < 0 ||
            asprintf(&moved, "%s/moved-%s", path, entry->d_name) < 0 ||
            asprintf(&file, "%s/kept", made) < 0)
            exit(98);
        const int result = rename(made, moved) ? 1 : mkdir(made, 0700) ? 2 : 0;
        printf("replace: %d %d\n", result, close(open(file, O_WRONLY | O_CREAT, 0600)));
        free(made);
        free(moved);
        free(file);
    }
    if (folder)
        closedir(folder);
}

static void open_file(const char *path, int by_stream)
{
    FILE *stream = by_stream ? fopen(path, "w") : NULL;
    const int descriptor = by_stream ? -1 : open(path, O_WRONLY | O_CREAT, 0600);
    printf("%s: %s\n", by_stream ? "fopen" : "open",
           stream || descriptor >= 0 ? "done" : strerror(errno));
    if (stream)
        fclose(stream);
    if (descriptor >= 0)
        close(descriptor);
}

static void run_mpi(const char *step)
{
    int rank = -1, flag, result = MPI_SUCCESS;
    if (!strcmp(step, "initialized"))
        result = MPI_Initialized(&flag);
    else if (!strcmp(step, "init"))
        result = MPI_Init(NULL, NULL);
    else if (!strcmp(step, "comm_rank"))
        result = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    else if (!strcmp(step, "barrier"))
        result = MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(step, "pcontrol"))
        result = MPI_Pcontrol(5, "phase", 2.5, 4200000000000000L, -1.25);
    else if (!strcmp(step, "finalize"))
        result = MPI_Finalize();
    else
        exit(99);
    printf("%s: result %d, rank %d\n", step, result, rank);
}

static void abort_one(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Prints the files that are mapped into the process. */
static void print_maps(void)
{
    char line[4352];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (strchr(line, '/'))
            printf("map: %s", strchr(line, '/'));
    }
    if (maps)
        fclose(maps);
}

static void print_names(void)
{
    printf("names: next malloc in %s, next MPI_Init in %s, next PMPI_Init in %s, any MPI_Init in "
           "%s, MPI_None in %s\n",
           library_of(dlsym(RTLD_NEXT, "malloc")), library_of(dlsym(RTLD_NEXT, "MPI_Init")),
           library_of(dlsym(RTLD_NEXT, "PMPI_Init")), library_of(dlsym(RTLD_DEFAULT, "MPI_Init")),
           library_of(dlsym(RTLD_DEFAULT, "MPI_None")));
}

static void run_step(const char *step)
{
    const char *value = strchr(step, '=');
    if (!strncmp(step, "getenv=", 7)) {
        const char *found = getenv(value + 1);
        printf("%s: %s\n", value + 1, found ? found : "(none)");
    } else if (!strcmp(step, "wait")) {
        wait_for_anybody();
    } else if (!strcmp(step, "children")) {
        count_children();
    } else if (!strncmp(step, "replace=", 8)) {
        replace_entries(value + 1);
    } else if (!strcmp(step, "close")) {
        closefrom(3);
    } else if (!strcmp(step, "read")) {
        (void)!getchar();
    } else if (!strcmp(step, "fork")) {
        fork_and_wait();
    } else if (!strncmp(step, "list=", 5)) {
        printf("list: %d\n", count_entries(value + 1));
    } else if (!strncmp(step, "open=", 5) || !strncmp(step, "fopen=", 6)) {
        open_file(value + 1, step[0] == 'f');
    } else if (!strcmp(step, "getppid")) {
        printf("getppid: %s\n", getppid() > 0 ? "a process" : "none");
    } else if (!strcmp(step, "names")) {
        print_names();
    } else if (!strcmp(step, "maps")) {
        print_maps();
    } else if (!strcmp(step, "kill")) {
        kill(getpid(), SIGKILL);
    } else if (!strcmp(step, "leave")) {
        _exit(0);
    } else if (!strcmp(step, "abort_one")) {
        abort_one();
    } else {
        run_mpi(step);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        dprintf(2, "trace: app %s\n", argv[i]);
        run_step(argv[i]);
    }
    return 0;
}
