/* SPDX-License-Identifier: MIT */
/*
 * Shows how signals affect a program, and which actions the program has for them according to
 * sigaction:
 *
 *     actions STEP[=SIGNAL]...
 *
 * It prints on stdout what happened, so that runs with and without tools can be compared.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sigaction old;
static volatile sig_atomic_t got;

/* Calls the previous handler, if any, like the handlers of many libraries. */
static void chain(int number, siginfo_t *info, void *context)
{
    got = got + 1;
    if (old.sa_flags & SA_SIGINFO)
        old.sa_sigaction(number, info, context);
    else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
        old.sa_handler(number);
}

/* Calls the previous handler or, if there is none, restores the default action and raises the
 * signal again, like the handlers of other libraries. */
static void chain_or_end(int number)
{
    got = got + 1;
    if (old.sa_handler == SIG_DFL) {
        signal(number, SIG_DFL);
        raise(number);
    } else {
        old.sa_handler(number);
    }
}

static void take_note(int number)
{
    (void)number;
    got = got + 1;
}

static const char *kind_of(const struct sigaction *action)
{
    if (action->sa_flags & SA_SIGINFO)
        return "handler with information";
    return action->sa_handler == SIG_DFL   ? "default"
           : action->sa_handler == SIG_IGN ? "ignored"
                                           : "handler";
}

static void query(int number)
{
    struct sigaction now;
    sigaction(number, NULL, &now);
    puts(kind_of(&now));
}

static void fork_one(int number)
{
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        query(number);
        fflush(stdout);
        raise(number);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void take(const char *step, int number)
{
    struct sigaction action = {.sa_flags = 0};
    if (!strcmp(step, "init")) {
        MPI_Init(NULL, NULL);
    } else if (!strcmp(step, "finalize")) {
        MPI_Finalize();
    } else if (!strcmp(step, "raise")) {
        raise(number);
        printf("went on, handled %d\n", (int)got);
    } else if (!strcmp(step, "ignore")) {
        signal(number, SIG_IGN);
    } else if (!strcmp(step, "chain")) {
        action.sa_sigaction = chain;
        action.sa_flags = SA_SIGINFO;
        sigaction(number, &action, &old);
        puts(kind_of(&old));
    } else if (!strcmp(step, "chain_or_end")) {
        action.sa_handler = chain_or_end;
        sigaction(number, &action, &old);
    } else if (!strcmp(step, "signal")) {
        action.sa_handler = signal(number, take_note);
        puts(kind_of(&action));
    } else if (!strcmp(step, "restore")) {
        sigaction(number, &old, &action);
        puts(kind_of(&action));
    } else if (!strcmp(step, "query")) {
        query(number);
    } else if (!strcmp(step, "fork")) {
        fork_one(number);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *number = strchr(argv[i], '=');
        if (number)
            *number++ = '\0';
        take(argv[i], number ? atoi(number) : 0);
        fflush(stdout);
    }
    return 0;
}
