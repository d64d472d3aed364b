/* SPDX-License-Identifier: MIT */
/*
 * Steps in which signals arrive. In `timer`, a timer sends signals in quick succession. In
 * `between`, a signal arrives after each instruction of a call, because the processor's trap flag
 * is set (only on x86-64; otherwise, no signals arrive). In `raise`, the thread sends signals to
 * itself between MPI calls. In these three steps, the handler makes MPI calls, which are counted
 * like all others. In `jump`, the handler leaves a call after its n-th instruction by siglongjmp,
 * also with the trap flag.
 */
#include "information.h"
#include "program.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100 };

/* What the handler does in this thread. Only the thread and its handler access it. */
static _Thread_local struct {
    volatile long kind, count, jump_at;
    volatile int stepping;
    struct itimerspec once; /* the handler sets the timer again at its end; with a periodic timer,
                               nothing but handlers might run */
    timer_t timer;
    sigjmp_buf back;
} now;

static void call_in_handler(long kind)
{
    unsigned long long values[16] = {0};
    int flag = -1;
    switch (kind % 3) {
    case 0:
        CHECK(M(Wtime, ()) >= 0);
        break;
    case 1:
        OK(Initialized, (&flag));
        CHECK(flag == 1);
        break;
    default:
        if (storm_pvar_count > 0)
            OK(T_pvar_read, (storm_pvar_session, storm_pvar_handle, values));
    }
}

static void handle(int signal, siginfo_t *info, void *context)
{
    const int error = errno;
    struct storm_caller *caller = storm_caller(), before = *caller;
    (void)signal;
    (void)info;
    now.count++;
#ifdef __x86_64__
    if (signal == SIGTRAP && !now.stepping)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
#endif
    (void)context;
    *caller = (struct storm_caller){__ehdr_start, _end, 0};
    if (now.kind >= 0)
        call_in_handler(now.kind);
    *caller = before;
    if (signal == SIGPROF)
        timer_settime(now.timer, 0, &now.once, NULL);
    errno = error;
    if (now.jump_at > 0 && now.count == now.jump_at)
        siglongjmp(now.back, 1);
}

static void install(int signal)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

static void make_call(struct storm_thread *thread, long function)
{
    int number = -77;
    switch (function % 4) {
    case 0: {
        const int error = M(Comm_rank, (thread->comm, &number));
        CHECK(error == MPI_SUCCESS && number == storm_rank);
        break;
    }
    case 1:
        OK(Comm_size, (thread->comm, &number));
        CHECK(number == storm_size);
        break;
    case 2:
        CHECK(M(Wtime, ()) >= 0);
        break;
    default:
        OK(Initialized, (&number));
        CHECK(number == 1);
    }
}

/* timer MICROSECONDS CALLS KIND FUNCTION: signals arrive at this interval during the calls. */
static void timer(struct storm_thread *thread, const long *a)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    const struct itimerspec never = {{0, 0}, {0, 0}};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    now.kind = a[2];
    now.jump_at = 0;
    install(SIGPROF);
    now.once = (struct itimerspec){{0, 0}, {0, a[0] * 1000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &now.timer) != 0)
        abort();
    timer_settime(now.timer, 0, &now.once, NULL);
    for (long i = 0; i < a[1]; i++)
        make_call(thread, a[3]);
    now.once = never;
    timer_settime(now.timer, 0, &never, NULL);
    timer_delete(now.timer);
}

#ifdef __x86_64__
/* The stack pointer is moved first, because the push must not overwrite the red zone. */
static void set_trap_flag(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "orq $0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}
#else
static void set_trap_flag(void)
{
}
#endif

/* Makes a call with or without the trap flag. A call without the trap flag must come first, from
 * the same call site: when libqmpi unwinds the stack for the first time, it blocks all signals, and
 * the kernel kills a process that traps while SIGTRAP is blocked. */
static __attribute__((noinline)) void call_stepwise(struct storm_thread *thread, long function,
                                                    int step)
{
    now.stepping = step;
    if (step)
        set_trap_flag();
    make_call(thread, function);
    now.stepping = 0;
    __asm__ volatile("nop\n\tnop" ::: "memory");
}

/* between CALLS KIND FUNCTION: makes one call without signals, and then CALLS calls
 * with signals. */
static void between(struct storm_thread *thread, const long *a)
{
    now.kind = a[1];
    now.jump_at = 0;
    install(SIGTRAP);
    for (long i = 0; i <= a[0]; i++)
        call_stepwise(thread, a[2], i > 0);
}

/* jump INSTRUCTION TIMES FUNCTION: leaves a call after this instruction, the next call one
 * instruction later, and so on. The calls that are left may have reached only some of the layers,
 * so they are added to `slack`. */
static void jump(struct storm_thread *thread, const long *a)
{
    static const int functions[] = {STORM_Comm_rank, STORM_Comm_size, STORM_Wtime,
                                    STORM_Initialized};
    struct storm_caller *caller = storm_caller(), before = *caller;
    install(SIGTRAP);
    for (volatile long i = -1; i < a[1]; i++) { /* the first call is not left */
        now.kind = -1;
        now.count = 0;
        now.jump_at = i < 0 ? 0 : 1 + (a[0] + i) % 400;
        if (sigsetjmp(now.back, 1) == 0) {
            call_stepwise(thread, a[2], i >= 0);
        } else {
            *caller = before;
            now.stepping = 0;
            storm_add(&storm->jumps, 1);
            storm_add(&storm->slack[functions[a[2] % 4]], 1);
        }
        now.jump_at = 0;
        make_call(thread, a[2] + 1);
    }
}

/* raise KIND TIMES: the thread sends signals to itself, between calls. */
static void raise_signal(struct storm_thread *thread, const long *a)
{
    (void)thread;
    install(SIGUSR2);
    now.kind = a[0];
    now.jump_at = 0;
    for (long i = 0; i < a[1]; i++)
        raise(SIGUSR2);
}

const struct storm_action storm_signal_actions[] = {
    {"timer", timer}, {"between", between}, {"jump", jump}, {"raise", raise_signal}, {0}};
