/* SPDX-License-Identifier: MIT */
/* Steps that create processes and threads, and a step that ends the process early. */
#include "program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { HUNG_AFTER = 20 }; /* seconds */

static int (*set_enabled)(int, int);

/* Carries out what a forked child does, and ends it. The child must not hang. If the process has
 * several threads, the child does not call the loader, because another thread may have held the
 * loader's lock. */
static void be_child(long kind)
{
    int flag = -1;
    alarm(HUNG_AFTER);
    if (kind > 3 && storm_thread_count > 1)
        kind = 3;
    switch (kind) {
    case 0:
        _exit(0);
    case 1:
        storm_add(&storm->untold[STORM_Initialized], 1);
        storm_add(&storm->untold[STORM_Wtime], 1);
        OK(Initialized, (&flag));
        _exit(flag == 1 && M(Wtime, ()) >= 0 ? 0 : 1);
    case 2:
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    case 3:
        _exit(set_enabled && (set_enabled(1, 0) || set_enabled(1, 1)) ? 2 : 0);
    case 4:
        _exit(dlsym(RTLD_DEFAULT, "MPI_Send") ? 0 : 3);
    default:
        _exit(dlopen(NULL, RTLD_NOW) ? 0 : 4);
    }
}

/* fork KIND TIMES: forks children, one after the other. */
static void fork_child(struct storm_thread *thread, const long *a)
{
    (void)thread;
    set_enabled = storm_set_enabled();
    for (long i = 0; i < a[1]; i++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0)
            be_child(a[0] % 6);
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            storm_wrong(storm, "a child of kind %ld ended with %#x", a[0] % 6, (unsigned)status);
    }
}

static void run_shell(struct storm_thread *thread, const long *a)
{
    (void)thread;
    CHECK(system(a[0] % 2 ? "exit 3" : "true") == (a[0] % 2 ? 3 << 8 : 0));
}

static void *call_in_thread(void *argument)
{
    struct storm_thread *thread = argument;
    int rank = -1;
    OK(Comm_rank, (thread->comm, &rank));
    CHECK(rank == storm_rank);
    return NULL;
}

/* short_threads COUNT: creates threads that end soon, one after the other. */
static void short_threads(struct storm_thread *thread, const long *a)
{
    for (long i = 0; i < a[0]; i++) {
        pthread_t id;
        if (pthread_create(&id, NULL, call_in_thread, thread) == 0)
            pthread_join(id, NULL);
    }
}

/* leave KIND STATUS: ends the process at this point of the script. */
static void leave(struct storm_thread *thread, const long *a)
{
    storm->ended = 1;
    storm_add(&storm->steps, 1);
    switch (a[0]) {
    case 0:
        exit((int)a[1]);
    case 1:
        _exit((int)a[1]);
    case 2:
        quick_exit((int)a[1]);
    case 3:
        raise(SIGKILL);
        break;
    case 4:
        execl("/bin/sh", "sh", "-c", "exit $0", "5", (char *)NULL);
        break;
    default:
        M(Abort, (thread->comm, (int)a[1]));
    }
}

const struct storm_action storm_process_actions[] = {{"fork", fork_child},
                                                     {"shell", run_shell},
                                                     {"short_threads", short_threads},
                                                     {"leave", leave},
                                                     {0}};
