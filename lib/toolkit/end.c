/* SPDX-License-Identifier: MIT */
/* See end.h. */
#define _GNU_SOURCE
#include "toolkit/end.h"

#include "util/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <qmpi/qmpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Files of the MPI library ---------------------------------------------------------------- */

enum { FILES_MAX = 256 };

struct loaded {
    struct link_map *files[FILES_MAX];
    int count;
};

static void add_loaded_file(struct loaded *loaded, struct link_map *file)
{
    for (int i = 0; i < loaded->count; i++) {
        if (loaded->files[i] == file)
            return;
    }
    if (loaded->count < FILES_MAX)
        loaded->files[loaded->count++] = file;
}

/* Adds the loaded file with this name. The name is a SONAME, which is also the name of the file in
 * most distributions. */
static void add_by_name(struct loaded *loaded, struct link_map *any, const char *name)
{
    while (any->l_prev)
        any = any->l_prev;
    for (; any; any = any->l_next) {
        if (!strcmp(qmpi_text_base_name(any->l_name), name)) {
            add_loaded_file(loaded, any);
            return;
        }
    }
}

/* Returns the place of an address in the dynamic section of a loaded file. On most processors,
 * glibc has already added the address at which the file is loaded. */
static const void *dynamic_pointer(const struct link_map *file, ElfW(Addr) address)
{
    return (const void *)(address < file->l_addr ? address + file->l_addr : address);
}

static void add_needed(struct loaded *loaded, struct link_map *file)
{
    const char *strings = NULL;
    for (const ElfW(Dyn) *entry = file->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = dynamic_pointer(file, entry->d_un.d_ptr);
    }
    for (const ElfW(Dyn) *entry = file->l_ld; strings && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_NEEDED)
            add_by_name(loaded, file, strings + entry->d_un.d_val);
    }
}

static struct link_map *file_of(const void *address)
{
    struct link_map *file = NULL;
    Dl_info info;
    return address && dladdr1(address, &info, (void **)&file, RTLD_DL_LINKMAP) ? file : NULL;
}

static bool is_symbol_of(struct link_map *file, void *handle, const char *name)
{
    return file_of(dlsym(handle, name)) == file;
}

/* Returns the MPI library, or NULL if there is none or it is linked statically. libqmpi must be
 * excluded, because it also defines functions PMPI_X. The MPI library need not be in the global
 * scope, because Python loads it only for mpi4py. */
static struct link_map *find_mpi_link_map(void)
{
    static const char here;
    struct link_map *file = file_of(&here);
    bool found = false;
    while (file && file->l_prev)
        file = file->l_prev;
    while (file && !found && (file = file->l_next)) { /* the first one is the program */
        void *handle = dlopen(file->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue;
        found = is_symbol_of(file, handle, "PMPI_Get_library_version") &&
                !is_symbol_of(file, handle, "QMPIX_Get_function");
        dlclose(handle);
    }
    return file;
}

/* Returns whether an address is in the MPI library or one of its dependencies. This is always false
 * if the library is linked statically. */
static bool is_in_mpi_library(const void *address)
{
    struct loaded loaded = {.count = 0};
    struct link_map *holder = file_of(address), *library = holder ? find_mpi_link_map() : NULL;
    bool holds = false;
    if (!library)
        return false;
    add_loaded_file(&loaded, library);
    for (int i = 0; i < loaded.count && !holds; i++) {
        holds = loaded.files[i] == holder;
        add_needed(&loaded, loaded.files[i]);
    }
    return holds;
}

/* ---- Signals --------------------------------------------------------------------------------- */

enum { STACK = 256 * 1024 };

/* The default action of each of these signals ends the process. */
static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},       {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
    {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},     {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"},     {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
    {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},     {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
    {SIGPROF, "SIGPROF"}, {SIGVTALRM, "SIGVTALRM"}, {SIGSYS, "SIGSYS"},
};
enum { SIGNALS = sizeof signals / sizeof *signals };

static const struct tool_end_signals *user;

static struct sigaction before[SIGNALS];
static bool watched[SIGNALS];
/* Each becomes true when our handler passes the signal on to the previous action. The handler may
 * run in several threads at the same time. */
static atomic_bool passed[SIGNALS];

static int index_of_signal(int number)
{
    int i = 0;
    while (i < SIGNALS - 1 && signals[i].number != number)
        i++;
    return i;
}

/* ---- In the handler -------------------------------------------------------------------------- */

static void put_back(int number, const struct sigaction *action)
{
    QMPIX_Tool_sigaction(number, action, NULL, false);
}

static void set_default(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    put_back(number, &action);
}

void tool_end_set_default_signals(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        if (watched[i])
            set_default(signals[i].number);
    }
}

static bool is_default(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
           number == SIGABRT;
}

/* Returns whether the signal is raised again when the handler returns, as is the case for a fault
 * that the processor has raised. Other signals must be sent again. */
static bool comes_again(int number, const siginfo_t *info)
{
    return is_fault(number) && number != SIGABRT && info->si_code > 0;
}

/* The handlers of other tools recognize ours by this name. */
static void on_fatal_signal(int number, siginfo_t *info, void *context);
extern __typeof__(on_fatal_signal) qmpi_tool_on_fatal_signal
    __attribute__((alias("on_fatal_signal"), visibility("default")));

static const void *address_of(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ? (const void *)(uintptr_t)action->sa_sigaction
                                         : (const void *)(uintptr_t)action->sa_handler;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fatal_signal;
}

static bool is_tools(const struct sigaction *action)
{
    Dl_info info;
    return action->sa_flags & SA_SIGINFO && dladdr(address_of(action), &info) && info.dli_sname &&
           !strcmp(info.dli_sname, "qmpi_tool_on_fatal_signal");
}

bool tool_end_can_replace(const struct sigaction *action)
{
    return is_default(action) || is_tools(action);
}

/* Returns whether a handler of the program has called our handler. The program can have got ours as
 * the previous action if its sigaction is that of the C library, because libqmpi was opened later.
 * Our handler must then return, unless the signal is a fault: without our handler, that of the
 * program would have found the default action and continued. */
static bool is_chained(int number)
{
    struct sigaction now;
    return !QMPIX_Tool_sigaction(number, NULL, &now, false) && !is_ours(&now) &&
           !is_default(&now) && !is_tools(&now);
}

static void on_fatal_signal(int number, siginfo_t *info, void *context)
{
    static atomic_bool busy;
    const int error = errno, place = index_of_signal(number);
    (void)context;
    if (!is_fault(number) && is_chained(number))
        return;
    if (user->wants()) {
        if (atomic_exchange(&busy, true)) {
            /* Another thread is already in the handler, and will end the process. */
            const struct timespec pause = {TOOL_END_PATIENCE + 2, 0};
            nanosleep(&pause, NULL);
        } else {
            user->on_fatal_signal(number, signals[place].name);
        }
    }
    /* Two handlers that each have the other as the previous action would never end the process. */
    if (atomic_exchange(&passed[place], true))
        set_default(number);
    else
        put_back(number, &before[place]);
    if (!comes_again(number, info))
        raise(number);
    errno = error;
}

/* ---- Watching -------------------------------------------------------------------------------- */

/* Gives this thread an alternate signal stack if it has none, because a stack that has overflowed
 * has no room for a handler. */
static void make_stack(void)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
        return;
    stack = (stack_t){.ss_sp = malloc(STACK), .ss_size = STACK};
    if (stack.ss_sp && sigaltstack(&stack, NULL))
        free(stack.ss_sp);
}

/* Returns whether the handler of a fault belongs to the MPI library or one of its dependencies.
 * Communication libraries such as UCX install handlers that print where the fault was and end the
 * process. */
static bool is_libraries(int number, const struct sigaction *action)
{
    return is_fault(number) &&
           (action->sa_flags & SA_SIGINFO ||
            (action->sa_handler != SIG_IGN && action->sa_handler != SIG_DFL)) &&
           is_in_mpi_library(address_of(action));
}

static void watch_signal(int i, const struct sigaction *ours)
{
    struct sigaction now;
    const int number = signals[i].number;
    if (QMPIX_Tool_sigaction(number, NULL, &now, false) || is_ours(&now))
        return;
    /* If we watch the signal already, a handler of another tool passes the signal on to ours. */
    const bool takes =
        is_default(&now) || is_libraries(number, &now) || (!watched[i] && is_tools(&now));
    if (takes) {
        before[i] = now;
        watched[i] = QMPIX_Tool_sigaction(number, ours, NULL, true) == MPI_SUCCESS;
    }
}

void tool_end_watch_signals(const struct tool_end_signals *new_user)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fatal_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    user = new_user;
    make_stack();
    for (int i = 0; i < SIGNALS; i++)
        watch_signal(i, &ours);
}

void tool_end_unwatch_signals(void)
{
    struct sigaction now;
    for (int i = 0; i < SIGNALS; i++) {
        if (!watched[i] || QMPIX_Tool_sigaction(signals[i].number, NULL, &now, false))
            continue;
        if (is_ours(&now))
            put_back(signals[i].number, &before[i]);
        else if (is_tools(&now))
            continue; /* The other tool still passes the signal on to our handler. */
        watched[i] = false;
    }
}

/* ---- Exit ------------------------------------------------------------------------------------ */

/* The C library has this function of the C++ ABI, but no header declares it. */
int __cxa_atexit(void (*function)(void *), void *argument, void *object);

static void (*last_function)(void);

/* The parameter is not used, because LLVM's ThreadSanitizer passes no argument to a handler that is
 * registered for no object. */
static void call_last_function(void *unused)
{
    (void)unused;
    last_function();
}

/*
 * The C library runs destructors in a handler of exit that was registered before main. A handler
 * that is registered while this handler runs is called after it. Our handler is registered for no
 * object: the handler of an object, such as a library, would be called earlier, with the
 * destructors of this object.
 */
void tool_end_after_destructors(void (*function)(void))
{
    last_function = function;
    if (__cxa_atexit(call_last_function, NULL, NULL))
        function();
}
