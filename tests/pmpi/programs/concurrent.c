/* SPDX-License-Identifier: MIT */
/*
 * An application with a second thread, which acts while a tool is being loaded. The first argument
 * selects what this thread does:
 *   call        makes an MPI call
 *   open        opens the library named by the second argument, which makes MPI calls later
 *   construct   opens the library named by the second argument just before a tool is loaded; the
 *               tool is loaded while the constructor of this library runs
 * With `call` and `open`, libqmpi begins to search for the owner of the calling code while a tool
 * is being loaded, and ends this search after all tools are loaded.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 5 };

static const char *library;
static bool constructs;
static _Thread_local bool waits; /* this thread must wait before it examines the loaded objects */
static sem_t arrived, loaded;
static pthread_t thread;
static bool has_thread;

/* Exports a function, because functions of this program are hidden by default. */
#define SHOWN __attribute__((visibility("default")))

/* Replaces the function of the C library. libqmpi calls it to examine the loaded objects. If the
 * thread must wait, this function waits until MPI is initialized. */
SHOWN int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    typedef int function(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    if (waits) {
        waits = false;
        sem_post(&arrived);
        sem_wait(&loaded);
    }
    function *const real = (function *)(uintptr_t)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return real(callback, data);
}

static void open_library(void)
{
    void *plugin = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (constructs)
        sem_wait(&loaded);
    void (*calls)(int) = plugin ? (void (*)(int))(uintptr_t)dlsym(plugin, "plugin_calls") : NULL;
    if (calls)
        calls(CALLS);
    else
        fprintf(stderr, "%s\n", dlerror());
}

static void *run(void *unused)
{
    int flag;
    (void)unused;
    waits = !constructs;
    if (library)
        open_library();
    else
        MPI_Initialized(&flag);
    if (waits) /* The thread did not examine the objects. */
        sem_post(&arrived);
    waits = false;
    return NULL;
}

static void take_turn(void)
{
    if (!has_thread && (has_thread = pthread_create(&thread, NULL, run, NULL) == 0))
        sem_wait(&arrived);
}

/* The constructor of the tool (opens.c) looks this function up by its name. */
SHOWN void program_turn(void);
void program_turn(void)
{
    if (!constructs)
        take_turn();
}

/* The constructor of the library (constructs.c) calls this function. */
SHOWN void program_arrived(void);
void program_arrived(void)
{
    sem_post(&arrived);
}

/* Replaces the function of the C library. libqmpi calls it for an option env.NAME=value of a layer,
 * just before the library of the layer is loaded. */
SHOWN int setenv(const char *name, const char *value, int overwrite)
{
    typedef int function(const char *, const char *, int);
    function *const real = (function *)(uintptr_t)dlsym(RTLD_NEXT, "setenv");
    if (constructs && !strcmp(name, "TEST_TURN"))
        take_turn();
    return real(name, value, overwrite);
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 2)
        return 2;
    library = argv[2];
    sem_init(&arrived, 0, 0);
    sem_init(&loaded, 0, 0);
    constructs = !strcmp(argv[1], "construct");
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    sem_post(&loaded);
    if (has_thread)
        pthread_join(thread, NULL);
    MPI_Finalize();
    printf("%s\n", has_thread ? "crossed" : "the thread's turn did not come");
    return 0;
}
