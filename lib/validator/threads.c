/* SPDX-License-Identifier: MIT */
/* See checks.h. */
#define _GNU_SOURCE
#include "validator/checks.h"

#include "util/util.h"
#include "validator/fault.h"
#include "validator/watch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <qmpi/traits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static const struct qmpi_validate_host *host;

/* A thread of a layer. These structures exist for the whole run. */
struct thread {
    struct thread *next;
    int tool_id;
    _Atomic pid_t tid; /* 0 if it is unknown or the thread has not run yet */
    _Atomic bool ended;
    const QMPIX_Function *function; /* the function in whose call it was created */
    const char *where;              /* what ran in the layer then */
    const void *address;            /* the address of the call that created it */
    void *(*routine)(void *);
    int (*c_routine)(void *);
    void *argument;
};

enum { IDS = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *threads;
static _Thread_local struct thread *own;
static bool calls_mpi[IDS]; /* [tool_id]: whether threads of the layer call MPI */
/* [tool_id]: the level that the layer requires, plus 1, or 0 if it does not change the level. */
static int asked[IDS];
static int program_asked = -1; /* the level that the first layer with `asked` received */

/* ---- Creation -------------------------------------------------------------------------------- */

static struct thread *create(const void *caller)
{
    struct thread *thread = qmpi_allocate(1, sizeof *thread);
    const struct visit *visit = visit_current();
    thread->tool_id = watch_find_layer(caller);
    thread->address = caller;
    const bool in_visit = visit && visit->tool_id == thread->tool_id;
    thread->where = in_visit ? visit_name(visit) : "init function";
    if (in_visit)
        thread->function = visit->function;
    else
        QMPIX_Function_describe(MPI_INIT_T, &thread->function);
    return thread;
}

static void publish(struct thread *thread)
{
    pthread_mutex_lock(&lock);
    thread->next = threads;
    threads = thread;
    pthread_mutex_unlock(&lock);
}

static void mark_end(void *data)
{
    ((struct thread *)data)->ended = true;
}

static void *run_routine(void *data)
{
    struct thread *thread = data;
    void *result;
    own = thread;
    thread->tid = (pid_t)syscall(SYS_gettid); /* glibc has gettid since 2.30 */
    pthread_cleanup_push(mark_end, thread);
    result = thread->routine(thread->argument);
    pthread_cleanup_pop(1);
    return result;
}

static int run_c_routine(void *data)
{
    struct thread *thread = data;
    int result;
    own = thread;
    thread->tid = (pid_t)syscall(SYS_gettid); /* glibc has gettid since 2.30 */
    pthread_cleanup_push(mark_end, thread);
    result = thread->c_routine(thread->argument);
    pthread_cleanup_pop(1);
    return result;
}

static int watched_pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                                  void *(*routine)(void *), void *argument)
{
    struct thread *thread = create(WATCH_CALLER);
    thread->routine = routine;
    thread->argument = argument;
    const int error = pthread_create(id, attributes, run_routine, thread);
    if (error)
        free(thread);
    else
        publish(thread);
    return error;
}

static int watched_thrd_create(thrd_t *id, thrd_start_t routine, void *argument)
{
    struct thread *thread = create(WATCH_CALLER);
    thread->c_routine = routine;
    thread->argument = argument;
    const int result = thrd_create(id, run_c_routine, thread);
    if (result != thrd_success)
        free(thread);
    else
        publish(thread);
    return result;
}

/* ---- std::thread ----------------------------------------------------------------------------- */

/* Returns whether the process has a thread with this ID. */
static bool exists(pid_t tid)
{
    char *path = qmpi_format("/proc/self/task/%d", (int)tid);
    const bool found = !access(path, F_OK);
    free(path);
    return found;
}

enum { TASKS_MAX = 4096 };

static int list_tasks(pid_t *tasks)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; folder && count < TASKS_MAX && (entry = readdir(folder));) {
        if (atoi(entry->d_name) > 0)
            tasks[count++] = (pid_t)atoi(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return count;
}

static bool is_task_listed(pid_t task, const pid_t *tasks, int count)
{
    for (int i = 0; i < count; i++) {
        if (tasks[i] == task)
            return true;
    }
    return false;
}

/* std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)()), in the C++ ABI of GCC. */
#define START_THREAD                                                                               \
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"
typedef void start_function(void *thread, void *state, void (*depend)(void));
static start_function *start_thread;

/* start_thread does not return the ID of the new thread. It is found by comparing the threads of
 * the process before and after the call. */
static void watched_start_thread(void *created, void *state, void (*depend)(void))
{
    struct thread *thread = create(WATCH_CALLER);
    pid_t *tasks = qmpi_allocate((size_t)2 * TASKS_MAX, sizeof *tasks);
    pid_t *const later = tasks + TASKS_MAX;
    pid_t added = 0;
    const int count = list_tasks(tasks);
    start_thread(created, state, depend);
    const int later_count = list_tasks(later);
    int new_count = 0;
    for (int i = 0; i < later_count; i++) {
        if (is_task_listed(later[i], tasks, count))
            continue;
        added = later[i];
        new_count++;
    }
    free(tasks);
    thread->tid = new_count == 1 ? added : 0;
    thread->ended = new_count != 1;
    publish(thread);
}

void validator_threads_prepare_cpp(void)
{
    static void *library;
    static const struct watch_entry functions[] = {
        {START_THREAD, (watch_function *)watched_start_thread}};
    if (library)
        return;
    library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    start_thread = library ? (start_function *)(uintptr_t)dlsym(library, START_THREAD) : NULL;
    if (start_thread)
        watch_add(functions, 1, false);
}

/* ---- Thread levels --------------------------------------------------------------------------- */

int validator_threads_layer(void)
{
    return own ? own->tool_id : 0;
}

const char *validator_threads_level_name(int level)
{
    return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
           : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
           : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
           : level == MPI_THREAD_MULTIPLE   ? "MPI_THREAD_MULTIPLE"
                                            : "an unknown thread level";
}

/* Returns whether any thread may call a function at any thread level. */
static bool is_free_for_threads(const QMPIX_Function *function)
{
    QMPIX_Traits traits = {.size = sizeof traits};
    QMPIX_Function_get_traits(function, &traits);
    return traits.flags & QMPIX_TRAIT_ANY_THREAD;
}

void validator_threads_check_call(const QMPIX_Call *call)
{
    const int tool_id = validator_threads_layer(), level = host->thread_level();
    if (!tool_id || level < 0 || is_free_for_threads(call->function))
        return;
    calls_mpi[tool_id] = true;
    if (level >= MPI_THREAD_SERIALIZED) /* The tool may wait until no other thread calls MPI. */
        return;
    char *detail = qmpi_format("calls %s in a thread of its own, which needs MPI_THREAD_MULTIPLE; "
                               "MPI provides %s",
                               call->function->name, validator_threads_level_name(level));
    fault_report(&(struct fault){.kind = FAULT_THREAD_LEVEL,
                                 .tool_id = tool_id,
                                 .function = call->function,
                                 .calls = true,
                                 .detail = detail});
    free(detail);
}

enum { REQUIRED = 2 }; /* the index of this argument of MPI_Init_thread */

/* Returns the level that the layer of a visit received. */
static int received_level(const struct visit *visit)
{
    return visit->function->number == MPI_INIT_THREAD_T
               ? *(const int *)compare_saved_argument(&visit->values, REQUIRED)
               : MPI_THREAD_SINGLE;
}

/* Returns the level that a call requires. */
static int required_level(const QMPIX_Call *call)
{
    return call->function->number == MPI_INIT_THREAD_T ? *(const int *)call->arguments[REQUIRED]
                                                       : MPI_THREAD_SINGLE;
}

void validator_threads_check_required(const struct visit *visit, const QMPIX_Call *call)
{
    const int tool_id = visit->tool_id, level = received_level(visit),
              passed = required_level(call);
    const char *binding = "";
    if (passed == level)
        return;
    if (program_asked < 0)
        program_asked = level;
    asked[tool_id] = passed + 1;
    QMPIX_Tool_get_binding(tool_id, &binding);
    const bool raises = passed > level, pmpi = !strncmp(binding, "PMPI tool", 9);
    if (host->declares(tool_id, "changes-arguments") || (pmpi && raises))
        return;
    char *detail = qmpi_format("asks for %s in place of %s: it %s the thread level of the program",
                               validator_threads_level_name(passed),
                               validator_threads_level_name(level), raises ? "raises" : "lowers");
    fault_report(&(struct fault){.kind = FAULT_THREAD_LEVEL,
                                 .tool_id = tool_id,
                                 .function = visit->function,
                                 .context = visit->context,
                                 .calls = true,
                                 .detail = detail});
    free(detail);
}

/* The level that MPI has provided, or -1 if it is unknown. It is stored because MPI cannot be asked
 * when the process exits. */
static _Atomic int provided = -1;

void validator_threads_record_provided(void)
{
    if (provided < 0)
        provided = host->thread_level();
}

void validator_threads_print_levels(void)
{
    for (int tool_id = 1; tool_id <= host->layers && qmpi_launcher_reports(); tool_id++) {
        const char *name = "?";
        if (!asked[tool_id] && !calls_mpi[tool_id])
            continue;
        QMPIX_Tool_get_name(tool_id, &name);
        char *asks = asked[tool_id]
                         ? qmpi_format("asks for %s, although the program asks for %s",
                                       validator_threads_level_name(asked[tool_id] - 1),
                                       validator_threads_level_name(program_asked))
                         : qmpi_copy("needs MPI_THREAD_MULTIPLE, because its threads call MPI");
        char *text = qmpi_message("validation: note: layer %d (%s) %-s; MPI provides %s", tool_id,
                                  name, asks, validator_threads_level_name(provided));
        host->print(text);
        free(text);
        free(asks);
    }
}

/* ---- The end --------------------------------------------------------------------------------- */

void validator_threads_check_end(void)
{
    pthread_mutex_lock(&lock);
    struct thread *const all = threads;
    pthread_mutex_unlock(&lock);
    for (const struct thread *thread = all; thread; thread = thread->next) {
        /* A thread without an ID has been created and has not run yet. */
        const bool is_over = thread->ended || (thread->tid && !exists(thread->tid));
        if (!thread->tool_id || is_over)
            continue;
        char *detail = qmpi_format("starts a thread in its %s that is still running when the "
                                   "process exits",
                                   thread->where);
        fault_report(&(struct fault){.kind = FAULT_THREAD_LEFT,
                                     .tool_id = thread->tool_id,
                                     .function = thread->function,
                                     .address = thread->address,
                                     .detail = detail});
        free(detail);
    }
}

void validator_threads_start(const struct qmpi_validate_host *given)
{
    static const struct watch_entry functions[] = {
        {"pthread_create", (watch_function *)watched_pthread_create},
        {"thrd_create", (watch_function *)watched_thrd_create},
    };
    host = given;
    watch_add(functions, sizeof functions / sizeof *functions, false);
}
