/* SPDX-License-Identifier: MIT */
/*
 * Receives a signal after each instruction of an MPI call: while the trap flag is set, the
 * processor traps after each instruction.
 *
 *   stepped signals  the handler calls MPI_Wtime; checks the results of the interrupted calls
 *   stepped reads    the handler also reads a counter of MPI_Comm_rank by MPI_T_pvar_read
 *   stepped jumps    the handler leaves a call by siglongjmp after its n-th instruction, for
 *                    increasing n; other calls follow each jump. No call may load a library,
 *                    because a jump would leave the loader in an inconsistent state
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)
static void set_trap(void)
{
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static void clear_trap(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x100;
}
#else
static void set_trap(void)
{
    puts("no trap flag");
    exit(77);
}

static void clear_trap(ucontext_t *context)
{
    (void)context;
}
#endif

static volatile sig_atomic_t stepping, signals;
static volatile sig_atomic_t jump_at;   /* the number of the signal that jumps; 0: none */
static volatile sig_atomic_t backwards; /* number of wrong results in the handler */
static sigjmp_buf start;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle; /* if MPI_T_PVAR_HANDLE_NULL, no variable is read */

static void step(int number, siginfo_t *info, void *data)
{
    static double last;
    static unsigned long long value, previous;
    ucontext_t *context = data;
    (void)number;
    (void)info;
    if (!stepping) {
        clear_trap(context);
        return;
    }
    signals++;
    if (jump_at && signals == jump_at) {
        stepping = 0;
        siglongjmp(start, 1);
    }
    if (jump_at)
        return;
    const double now = MPI_Wtime();
    backwards += now < last;
    last = now;
    if (handle == MPI_T_PVAR_HANDLE_NULL)
        return;
    backwards += MPI_T_pvar_read(session, handle, &value) != MPI_SUCCESS || value < previous;
    previous = value;
}

static void begin_steps(void)
{
    stepping = 1;
    set_trap();
}

static void end_steps(void)
{
    stepping = 0; /* the handler clears the flag */
}

#define EXPORTED __attribute__((noinline, visibility("default")))

EXPORTED int caller_of_rank(void);
int caller_of_rank(void)
{
    int rank = -77;
    const int result = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return result == MPI_SUCCESS && rank == 0;
}

EXPORTED int caller_of_size(void);
int caller_of_size(void)
{
    int size = -77;
    const int result = MPI_Comm_size(MPI_COMM_WORLD, &size);
    return result == MPI_SUCCESS && size == 1;
}

/* Twelve arguments: half of them are on the stack. */
static int exchange(void)
{
    int sent = 5, received = -77;
    MPI_Status status = {.MPI_TAG = -77};
    const int result =
        MPI_Sendrecv(&sent, 1, MPI_INT, 0, 8, &received, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &status);
    return result == MPI_SUCCESS && received == 5 && status.MPI_TAG == 8;
}

static int get_name(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = -77;
    return MPI_Get_processor_name(name, &length) == MPI_SUCCESS && length == (int)strlen(name);
}

static int get_time(void)
{
    return MPI_Wtime() >= 0;
}

static const struct call {
    const char *name;
    int (*make)(void);
} calls[] = {{"MPI_Comm_rank", caller_of_rank},
             {"MPI_Comm_size", caller_of_size},
             {"MPI_Sendrecv", exchange},
             {"MPI_Get_processor_name", get_name}};
enum { CALLS = sizeof calls / sizeof *calls };

/* With `jumps`, the handler jumps out of two calls: out of MPI_Wtime at any instruction, and out of
 * MPI_Comm_size only before the call has reached a layer. The same function then makes the call
 * again, so that the new frame has the address of the frame that was left. */
static const struct call left = {"MPI_Wtime", get_time};
enum { ANYWHERE = 1 << 20, BEFORE_LAYERS = 25 }; /* numbers of instructions */

static void make_all_with_signals(void)
{
    long total = 0;
    for (int i = 0; i < CALLS; i++) {
        signals = backwards = 0;
        begin_steps();
        const int right = calls[i].make();
        end_steps();
        total += signals;
        printf("%s is %s, the handler's calls are %s, %s\n", calls[i].name,
               right ? "right" : "WRONG", backwards ? "WRONG" : "right",
               signals > 20 ? "many signals" : "NO SIGNALS");
    }
    printf("%ld signals\n", total);
}

static int get_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

static unsigned long long count_loads(void)
{
    unsigned long long loads = 0;
    dl_iterate_phdr(get_loads, &loads);
    return loads;
}

static void make_with_jumps(const struct call *call, int last)
{
    static volatile int n, wrong, done;
    n = wrong = done = 0;
    sigsetjmp(start, 1);
    if (n)
        wrong += !caller_of_size() + !call->make();
    if (!done && n < last) {
        signals = 0;
        jump_at = n += 1 + n / 40; /* increasing steps: the MPI library has many instructions */
        begin_steps();
        const int right = call->make();
        end_steps();
        jump_at = 0;
        done = 1;
        wrong += !right + !caller_of_size();
    }
    printf("%s left by %s jumps, %d calls after them are wrong\n", call->name,
           n > 20 ? "many" : "NO", wrong);
}

static void find_counter(void)
{
    int provided, count = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[256];
        int size = sizeof name, verbosity, class, bind, readonly, continuous, atomic, number;
        MPI_Datatype type;
        MPI_T_enum names;
        if (MPI_T_pvar_get_info(i, name, &size, &verbosity, &class, &type, &names, NULL, NULL,
                                &bind, &readonly, &continuous, &atomic) == MPI_SUCCESS &&
            strstr(name, "calls.MPI_Comm_rank") &&
            MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &number) == MPI_SUCCESS)
            return;
    }
    puts("NO COUNTER");
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    MPI_Init(&argc, &argv);
    handle = MPI_T_PVAR_HANDLE_NULL;
    if (argc > 1 && !strcmp(argv[1], "reads"))
        find_counter();
    if (argc > 1 && !strcmp(argv[1], "jumps")) {
        const unsigned long long loads = count_loads();
        make_with_jumps(&left, ANYWHERE);
        make_with_jumps(&calls[1], BEFORE_LAYERS);
        printf("%llu libraries loaded by calls\n", count_loads() - loads);
    } else {
        make_all_with_signals();
    }
    MPI_Finalize();
    return 0;
}
