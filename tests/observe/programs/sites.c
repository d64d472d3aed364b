/* SPDX-License-Identifier: MIT */
/*
 * Calls MPI from stacks of many kinds, which the arguments select. The program is compiled with
 * different options, because stack frames depend on them. test_sites.py expects the names of the
 * functions in this file, and finds lines by the comments `line: NAME`.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION static __attribute__((noinline, noclone))
/* Follows a call, which therefore cannot become a tail call. */
#define STAY() __asm__ volatile("" ::: "memory")
/* The size suffices for the tool `sites`, which needs much stack to read debug information. */
#define STACK (1 << 20)
#define USE(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

static inline __attribute__((always_inline)) void innermost(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* line: innermost */
}

static inline __attribute__((always_inline)) void inlined(void)
{
    innermost(); /* line: inlined */
}

FUNCTION void leaf(void)
{
    inlined(); /* line: leaf */
    STAY();
}

/* ---- Frames ---------------------------------------------------------------------------------- */

FUNCTION void one(void)
{
    leaf();
    STAY();
}

FUNCTION void two(void)
{
    leaf();
    STAY();
}

FUNCTION void recurse(int depth)
{
    if (depth)
        recurse(depth - 1);
    else
        leaf();
    STAY();
}

FUNCTION void allocate(size_t size, int depth)
{
    char *memory = alloca(size);
    memset(memory, 1, size);
    USE(memory);
    if (depth)
        allocate(2 * size, depth - 1);
    else
        leaf();
    STAY();
}

FUNCTION void vary(int size, int depth)
{
    double array[size];
    array[0] = size;
    USE(array);
    if (depth)
        vary(size + 3, depth - 1);
    else
        leaf();
    STAY();
}

/* Because the frame is aligned, parameters on the stack are addressed by another register. */
FUNCTION void align(int depth, int b, int c, int d, int e, int f, int g, int h)
{
    char aligned[256] __attribute__((aligned(128)));
    aligned[0] = (char)(g + h);
    USE(aligned);
    if (depth)
        align(depth - 1, b, c, d, e, f, h, g);
    else
        leaf();
    STAY();
}

FUNCTION void large(void)
{
    char array[300000];
    array[0] = 1;
    USE(array);
    leaf();
    STAY();
}

static int compare(const void *a, const void *b)
{
    leaf();
    STAY();
    return *(const char *)a - *(const char *)b;
}

FUNCTION void sort(void)
{
    char items[] = {2, 1};
    qsort(items, 2, 1, compare);
    STAY();
}

static void frames(void)
{
    one();
    two();
    one();
    for (int depth = 0; depth < 3; depth++)
        recurse(depth);
    recurse(1);
    allocate(16, 0);
    allocate(4000, 1);
    allocate(16, 1);
    vary(1, 0);
    vary(100, 1);
    align(0, 1, 2, 3, 4, 5, 6, 7);
    align(2, 1, 2, 3, 4, 5, 6, 7);
    large();
    sort();
}

/* Calls itself in a way that depends on `state`, so that frames of different kinds alternate. The
 * stack also contains words that earlier calls have left there, which are not callers. */
FUNCTION void wander(unsigned state, int depth)
{
    state = state * 1103515245 + 12345;
    const unsigned choice = state >> 16;
    if (!depth) {
        leaf();
    } else if (choice % 4 == 0) {
        char *memory = alloca(choice % 999 + 1);
        USE(memory);
        wander(state, depth - 1);
    } else if (choice % 4 == 1) {
        char aligned[64] __attribute__((aligned(64)));
        USE(aligned);
        wander(state, depth - 1);
    } else if (choice % 4 == 2) {
        wander(state, depth - 1);
    } else {
        wander(state + 1, depth / 2);
    }
    STAY();
}

static void random_stacks(void)
{
    for (unsigned i = 0; i < 3000; i++)
        wander(i, (int)(i % 40));
    recurse(1000);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static void *start(void *data)
{
    one();
    STAY();
    return data;
}

static void thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)(i + 1) * STACK);
        pthread_create(&thread, &attributes, start, NULL);
        pthread_join(thread, NULL);
    }
}

static void handle(int number)
{
    (void)number;
    one();
    STAY();
}

FUNCTION void interrupted(void)
{
    raise(SIGUSR1);
    STAY();
}

/* Runs a signal handler on a stack of its own, and then on that of the program. */
static void signals(void)
{
    static char memory[STACK];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    interrupted();
    action.sa_flags = 0;
    sigaction(SIGUSR1, &action, NULL);
    interrupted();
}

static ucontext_t contexts[3];

FUNCTION void coroutine(int number)
{
    for (int i = 0; i < 2; i++) {
        recurse(number);
        swapcontext(&contexts[number], &contexts[3 - number]);
    }
    swapcontext(&contexts[number], &contexts[0]);
}

static void coroutines(void)
{
    for (int i = 1; i < 3; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_stack.ss_sp = malloc(STACK);
        makecontext(&contexts[i], (void (*)(void))(uintptr_t)coroutine, 1, i);
    }
    swapcontext(&contexts[0], &contexts[1]);
}

static jmp_buf before;

static void leave(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(before, 1);
}

FUNCTION void fails(void)
{
    char aligned[512] __attribute__((aligned(64)));
    USE(aligned);
    MPI_Send(NULL, 1, MPI_INT, 77, 0, MPI_COMM_SELF);
    STAY();
}

static void jumps(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (int i = 0; i < 2; i++) {
        if (!setjmp(before))
            fails();
        recurse(i);
    }
    MPI_Errhandler_free(&handler);
}

/* ---- Libraries ------------------------------------------------------------------------------- */

typedef void callback(void (*function)(void));

static void *open_plugin(const char *folder, int number, callback **call)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/observe_plugin_%s.so", folder, number % 2 ? "second" : "first");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *call = library ? (callback *)(uintptr_t)dlsym(library, "call_back") : NULL;
    if (!*call) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

typedef int closer(void *library);

/* Looks up dlclose in the C library, as UCX does for calls from its own dlclose. */
static closer *found_dlclose(void)
{
    closer *found = (closer *)(uintptr_t)dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
    if (!found)
        exit(1);
    return found;
}

/* Opens and closes two libraries alternately, usually at the same address. */
static void plugins(const char *folder, closer *close_library)
{
    callback *place = NULL, *call;
    int same = 0;
    for (int i = 0; i < 6; i++) {
        void *library = open_plugin(folder, i, &call);
        same += call == place;
        place = call;
        call(leaf);
        call(NULL);
        close_library(library);
    }
    printf("%d in the same place\n", same);
}

/* Opens a library by a relative path, and changes the directory before the library calls MPI. */
static void relative(const char *folder)
{
    callback *call;
    if (chdir(folder))
        exit(1);
    open_plugin(".", 0, &call);
    if (chdir("/"))
        exit(1);
    call(NULL);
}

static const char *plugin_folder;

static void *open_and_close(void *number)
{
    callback *call;
    for (int i = 0; i < 500; i++) {
        void *library = open_plugin(plugin_folder, number != NULL, &call);
        call(NULL);
        dlclose(library);
    }
    return NULL;
}

/* Two threads open and close libraries at the same time. */
static void close_at_once(const char *folder)
{
    pthread_t threads[2];
    plugin_folder = folder;
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, open_and_close, i ? &threads : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Without file descriptors ---------------------------------------------------------------- */

static long pages_in_use(int statm)
{
    char text[128] = "";
    long all, used = 0;
    if (pread(statm, text, sizeof text - 1, 0) > 0)
        sscanf(text, "%ld %ld", &all, &used);
    return used;
}

/* Uses up all file descriptors, and prints by how many pages the program grows during 20000 MPI
 * calls. */
static void without_descriptors(void)
{
    const int statm = open("/proc/self/statm", O_RDONLY);
    while (dup(0) >= 0)
        continue;
    leaf();
    const long pages = pages_in_use(statm);
    for (int i = 0; i < 20000; i++)
        leaf();
    printf("growth %ld\n", pages_in_use(statm) - pages);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_SELF);
    STAY();
}

int main(int argc, char **argv)
{
    int provided;
    const int threads =
        argc > 1 && (!strcmp(argv[1], "thread") || !strncmp(argv[1], "closing=", 8));
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "frames"))
            frames();
        else if (!strcmp(argv[i], "random"))
            random_stacks();
        else if (!strcmp(argv[i], "thread"))
            thread();
        else if (!strcmp(argv[i], "signals"))
            signals();
        else if (!strcmp(argv[i], "coroutines"))
            coroutines();
        else if (!strcmp(argv[i], "jumps"))
            jumps();
        else if (!strcmp(argv[i], "barrier"))
            barrier();
        else if (!strcmp(argv[i], "descriptors"))
            without_descriptors();
        else if (!strncmp(argv[i], "relative=", 9))
            relative(argv[i] + 9);
        else if (!strncmp(argv[i], "closing=", 8))
            close_at_once(argv[i] + 8);
        else if (!strncmp(argv[i], "found=", 6))
            plugins(argv[i] + 6, found_dlclose());
        else
            plugins(argv[i], dlclose);
    }
    MPI_Finalize();
    return 0;
}
