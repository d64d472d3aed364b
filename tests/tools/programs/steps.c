/* SPDX-License-Identifier: MIT */
/*
 * An application that carries out the steps on its command line in their order: `steps init
 * region=a barrier end=a finalize`. Some steps end it without MPI_Finalize, and some install
 * handlers. After the step only=RANK, only this rank carries out steps; after only=-1, all ranks
 * do. An unknown step ends the program with status 99.
 */
#define _GNU_SOURCE
#include "steps.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static int rank_of(void)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void check_pcontrol(const char *level)
{
    MPI_Pcontrol(atoi(level), (char *)NULL);
}

static void send_to_next(int bytes)
{
    int rank, size;
    char *to = calloc((size_t)bytes + 1, 1), *from = calloc((size_t)bytes + 1, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(to, bytes, MPI_BYTE, (rank + 1) % size, 0, from, bytes, MPI_BYTE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(to);
    free(from);
}

/* Sends from rank 0 to rank 1. */
static void send(int bytes)
{
    char *data = calloc((size_t)bytes + 1, 1);
    if (rank_of() == 0)
        MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else if (rank_of() == 1)
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(data);
}

/* Sends to each rank of a communicator in turn, four times, and then to MPI_PROC_NULL, all from one
 * call site. If `reversed`, begins with the last rank. The third message is empty. */
static void send_to_all(MPI_Comm comm, int size, int reversed)
{
    char data[64] = "";
    MPI_Request requests[64];
    for (int i = 0; i <= 4 * size; i++) {
        int peer = reversed ? size - 1 - i % size : i % size, bytes = i == 2 ? 0 : 10 + peer;
        peer = i == 4 * size ? MPI_PROC_NULL : peer;
        __asm__ volatile(""
                         : "+r"(peer), "+r"(bytes)); /* keeps the compiler from making separate
                                                        calls for some cases */
        MPI_Isend(data, bytes, MPI_BYTE, peer, 0, comm, &requests[i]);
    }
    for (int i = 0; i < 4 * size; i++)
        MPI_Recv(data, sizeof data, MPI_BYTE, i % size, 0, comm, MPI_STATUS_IGNORE);
    MPI_Waitall(4 * size + 1, requests, MPI_STATUSES_IGNORE);
}

/* Uses three communicators one after the other, which may have the same handle. In the second one,
 * the ranks are in the reverse order. */
static void use_peers(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i == 1 ? -rank : rank, &comm);
        send_to_all(comm, size, i == 1);
        MPI_Comm_free(&comm);
    }
}

/* Creates up to MOST communicators, until the MPI library has no more numbers for them. */
static void use_up_comms(void)
{
    enum { MOST = 100000 };
    MPI_Comm own, comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    for (int i = 0; i < MOST && MPI_Comm_dup(own, &comm) == MPI_SUCCESS; i++)
        continue;
}

static int error_count;

/* An error handler that counts errors. */
static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    error_count++;
}

static void count_errors(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
}

/* An error handler that makes a call. */
static void ask_about_error(MPI_Comm *comm, int *code, ...)
{
    int class = MPI_SUCCESS;
    (void)comm;
    MPI_Error_class(*code, &class);
    error_count += class == MPI_ERR_RANK;
}

/* Makes a call that fails, on a new communicator. */
static void fail(void)
{
    MPI_Comm own;
    MPI_Errhandler handler;
    int data = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_create_errhandler(ask_about_error, &handler);
    MPI_Comm_set_errhandler(own, handler);
    MPI_Errhandler_free(&handler);
    MPI_Send(&data, 1, MPI_INT, 4711, 0, own);
    MPI_Comm_free(&own);
}

/* Uses communicators that get a name only after their first use. The first three are freed, and
 * their handles may be reused. */
static void use_comms(void)
{
    MPI_Comm comm;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        MPI_Comm_set_name(comm, i < 2 ? "twice" : "once");
        MPI_Comm_free(&comm);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank_of(), 0, &comm);
    MPI_Barrier(comm);
    MPI_Comm_set_name(comm, "kept");
}

static void use_file(const char *name)
{
    MPI_File file;
    char bytes[100] = "";
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 90, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE); /* 10 bytes are
                                                                            available */
    MPI_File_close(&file);
}

static void use_window(void)
{
    MPI_Win window;
    char *memory, bytes[64] = "";
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Put(bytes, 16, MPI_BYTE, (rank + 1) % size, 0, 16, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Get(bytes, 64, MPI_BYTE, (rank + 1) % size, 0, 64, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* A copy callback of an attribute, which makes a call within another call. */
static int copy_slowly(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *flag)
{
    (void)keyval;
    (void)state;
    (void)value;
    (void)copy;
    MPI_Barrier(comm);
    *flag = 0;
    return MPI_SUCCESS;
}

static void nest(void)
{
    int keyval;
    MPI_Comm comm;
    MPI_Comm_create_keyval(copy_slowly, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_free(&comm);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
}

/* The C library calls this function, which makes a call. */
static int compare(const void *a, const void *b)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return *(const int *)a - *(const int *)b;
}

static void sort(void)
{
    int numbers[] = {2, 1};
    qsort(numbers, 2, sizeof *numbers, compare);
    MPI_Barrier(MPI_COMM_SELF); /* after qsort, so that this function has a frame */
}

static void *call_often(void *count)
{
    for (int i = 0; i < *(int *)count; i++)
        rank_of();
    return NULL;
}

static void use_threads(int count)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, call_often, &count);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void handle_signal(int number)
{
    dprintf(2, "trace: own handler %d\n", number);
}

static void handle_signal_and_exit(int number)
{
    dprintf(2, "trace: own handler %d\n", number);
    exit(7);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(number, &action, NULL);
}

static void fault(void)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static int fall(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above[0];
    return fall(frame) + frame[0];
}
#pragma GCC diagnostic pop

static void break_heap(void)
{
    char *volatile block = malloc(100);
    free(block);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wuse-after-free"
    free(block);
#pragma GCC diagnostic pop
}

static void fork_and_exit(int how)
{
    const pid_t child = fork();
    if (child == 0) {
        if (how)
            raise(how);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

/* The child carries out the steps that follow, too, before this process does. */
static void fork_and_go_on(void)
{
    const pid_t child = fork();
    if (child)
        waitpid(child, NULL, 0);
}

/* The child carries out the steps that follow. This process ends as the child does. */
static void go_on_in_child(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void fork_and_ask(void)
{
    const pid_t child = fork();
    if (child == 0) {
        int flag;
        MPI_Initialized(&flag);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

/* ---- Calls of qmpi and of MPI_T -------------------------------------------------------------- */

/* Switches a layer, and prints the result: 0 is success, and -1 means that libqmpi is missing. */
static void set_enabled(const char *layer, int enabled)
{
    int (*set)(int, int) =
        (int (*)(int, int))(uintptr_t)dlsym(RTLD_DEFAULT, "QMPIX_Tool_set_enabled");
    dprintf(1, "switched %d\n", set ? set(atoi(layer), enabled) : -1);
}

/* Prints the numbers of control variables, performance variables and categories. */
static void list_variables(void)
{
    int provided, cvars = 0, pvars = 0, categories = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    MPI_T_category_get_num(&categories);
    for (int i = 0; i < categories; i++) {
        char name[100], description[10];
        int length = sizeof name, description_length = sizeof description, count;
        MPI_T_category_get_info(i, name, &length, description, &description_length, &count, &count,
                                &count);
    }
    MPI_T_finalize();
    dprintf(1, "variables %d %d %d\n", cvars, pvars, categories);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static int mpi_step(const char *step, const char *value)
{
    int flag;
    if (!strcmp(step, "init"))
        MPI_Init(NULL, NULL);
    else if (!strcmp(step, "init_threads"))
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &flag);
    else if (!strcmp(step, "initialized"))
        MPI_Initialized(&flag);
    else if (!strcmp(step, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(step, "bcast"))
        MPI_Bcast(&flag, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else if (!strcmp(step, "rank"))
        rank_of();
    else if (!strcmp(step, "on_without_string"))
        MPI_Pcontrol(1);
    else if (!strcmp(step, "on_with_bad_pointer"))
        MPI_Pcontrol(1, (char *)0x1234567890);
    else if (!strcmp(step, "level"))
        check_pcontrol(value);
    else if (!strcmp(step, "region"))
        MPI_Pcontrol(1, value);
    else if (!strcmp(step, "end"))
        MPI_Pcontrol(-1, value);
    else if (!strcmp(step, "layer_off") || !strcmp(step, "layer_on"))
        set_enabled(value, !strcmp(step, "layer_on"));
    else if (!strcmp(step, "variables"))
        list_variables();
    else if (!strcmp(step, "shift"))
        send_to_next(atoi(value));
    else if (!strcmp(step, "send"))
        send(atoi(value));
    else if (!strcmp(step, "comms"))
        use_comms();
    else if (!strcmp(step, "peers"))
        use_peers();
    else if (!strcmp(step, "file"))
        use_file(value);
    else if (!strcmp(step, "window"))
        use_window();
    else if (!strcmp(step, "nest"))
        nest();
    else if (!strcmp(step, "sort"))
        sort();
    else if (!strcmp(step, "threads"))
        use_threads(atoi(value));
    else if (!strcmp(step, "use_up_comms"))
        use_up_comms();
    else if (!strcmp(step, "count_errors"))
        count_errors();
    else if (!strcmp(step, "fail"))
        fail();
    else if (!strcmp(step, "errors"))
        dprintf(1, "errors %d\n", error_count);
    else if (!strcmp(step, "pmpi_init"))
        PMPI_Init(NULL, NULL);
    else if (!strcmp(step, "pmpi_finalize"))
        PMPI_Finalize();
    else if (!strcmp(step, "finalize"))
        MPI_Finalize();
    else if (!strcmp(step, "abort"))
        MPI_Abort(MPI_COMM_WORLD, atoi(value));
    else
        return 0;
    return 1;
}

static struct rlimit memory_limit;

/* Limits the address space to its present size. After the step lift_limit, the process can get more
 * memory again. */
static void limit_memory(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        exit(98);
    fclose(file);
    getrlimit(RLIMIT_AS, &memory_limit);
    const struct rlimit limit = {(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE),
                                 memory_limit.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
}

/* Limits the address space, and allocates all that is left of it. */
static void use_up_memory(void)
{
    limit_memory();
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        char *volatile memory;
        while ((memory = malloc(size)))
            *memory = 1;
    }
}

static __attribute__((noinline)) void use_stack(size_t size)
{
    volatile char *lowest = __builtin_alloca(size);
    *lowest = 1;
}

/* Leaves a MiB that malloc can allocate without more address space. */
static void make_room_in_heap(void)
{
    enum { PARTS = 16 };
    void *parts[PARTS];
    for (int i = 0; i < PARTS; i++)
        parts[i] = malloc(64 << 10);
    void *volatile last = malloc(1); /* keeps the C library from returning the room */
    for (int i = 0; i < PARTS; i++)
        free(parts[i]);
    (void)last;
}

/* Exits with status 3 below `used` bytes on the stack, where only 12 KiB of the stack are left, and
 * the address space is exhausted. */
static void exit_on_full_stack(size_t used)
{
    enum { SPARE = 12 << 10 };
    volatile char *lowest = __builtin_alloca(used);
    *lowest = 1;
    use_stack(SPARE);
    make_room_in_heap();
    limit_memory();
    exit(3);
}

/* Uses memory for some time, and prints the maximum that the process has used, in bytes. */
static void use_memory(size_t size)
{
    struct rusage usage;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, size);
    munmap(memory, size);
    getrusage(RUSAGE_SELF, &usage);
    dprintf(1, "peak %ld\n", usage.ru_maxrss * 1024);
}

static int other_step(const char *step, const char *value)
{
    if (!strcmp(step, "sleep"))
        sleep_ms(atoi(value));
    else if (!strcmp(step, "late")) /* only rank 1 */
        sleep_ms(rank_of() == 1 ? atoi(value) : 0);
    else if (!strcmp(step, "handler"))
        handle(atoi(value), handle_signal);
    else if (!strcmp(step, "exiting_handler"))
        handle(atoi(value), handle_signal_and_exit);
    else if (!strcmp(step, "raise"))
        raise(atoi(value));
    else if (!strcmp(step, "fault"))
        fault();
    else if (!strcmp(step, "fall"))
        fall((volatile char *)"");
    else if (!strcmp(step, "break_heap"))
        break_heap();
    else if (!strcmp(step, "fork"))
        fork_and_exit(atoi(value));
    else if (!strcmp(step, "fork_and_go_on"))
        fork_and_go_on();
    else if (!strcmp(step, "go_on_in_child"))
        go_on_in_child();
    else if (!strcmp(step, "child"))
        fork_and_ask();
    else if (!strcmp(step, "use_up_memory"))
        use_up_memory();
    else if (!strcmp(step, "exit_on_full_stack")) /* the value: the KiB that are in use */
        exit_on_full_stack((size_t)atoi(value) << 10);
    else if (!strcmp(step, "lift_limit"))
        setrlimit(RLIMIT_AS, &memory_limit);
    else if (!strcmp(step, "use_memory"))
        use_memory((size_t)atoi(value) << 20);
    else if (!strcmp(step, "chdir"))
        return !chdir(value);
    else if (!strcmp(step, "exit"))
        exit(atoi(value));
    else
        return 0;
    return 1;
}

enum { STEP_SIZE = 256 };

/* Stores the part before `=` in `step`, which has STEP_SIZE bytes, and returns the part after it,
 * or an empty string. */
static const char *split_step(const char *text, char *step)
{
    snprintf(step, STEP_SIZE, "%s", text);
    char *value = strchr(step, '=');
    if (!value)
        return "";
    *value = '\0';
    return value + 1;
}

void run_step(const char *text)
{
    char step[STEP_SIZE];
    const char *value = split_step(text, step);
    if (!mpi_step(step, value) && !other_step(step, value) && !handle_step(step, value))
        exit(99);
}

/* main does not call run_step, which would be an additional frame: tests expect that main itself
 * calls mpi_step. */
int main(int argc, char **argv)
{
    int only = -1; /* the rank that carries out the next steps; negative: all ranks do */
    const char *launched = getenv("PMI_RANK");
    if (!launched)
        launched = getenv("OMPI_COMM_WORLD_RANK");
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "only=", 5)) {
            only = atoi(argv[i] + 5);
            continue;
        }
        if (only >= 0 && only != (launched ? atoi(launched) : rank_of()))
            continue;
        char step[STEP_SIZE];
        const char *value = split_step(argv[i], step);
        if (!mpi_step(step, value) && !other_step(step, value) && !handle_step(step, value) &&
            !(starving_step && starving_step(step, value)))
            exit(99);
    }
    return 0;
}
