/* SPDX-License-Identifier: MIT */
/* Call sites in the application, each in a section of its own so that an address shows the site.
 * Also the scenarios with threads. */
#ifndef CONFORMANCE_PROGRAM_H
#define CONFORMANCE_PROGRAM_H

/* The linker defines the bounds of a section whose name is a C identifier. A file that includes
 * this header defines its own sites. */
#define SITE(name)                                                                                 \
    extern const char __start_in_##name[], __stop_in_##name[];                                     \
    __attribute__((noinline, used, section("in_" #name))) static void name(void)
#define IN_SITE(name, address)                                                                     \
    ((const char *)(address) > __start_in_##name && (const char *)(address) <= __stop_in_##name)

/* The arguments of main. */
extern int program_argc;
extern char **program_argv;

/* Returns whether two addresses are in the same program or library. */
int program_is_same_object(const void *one, const void *other);

/* Returns whether the recorded events are those of one call that passed through layers
 * 1 … `layers`. */
int program_passed_in_order(int fn, int layers);

/* ---- threads.c ------------------------------------------------------------------------------- */

/* Threads call a function at the same time. With `addresses`, the tools ask for calling addresses,
 * and only these are checked. */
void scenario_threads(int addresses);

/* Layer 2 registers interceptors of a function while threads call this function. */
void scenario_run_time(void);

/* The first MPI call comes from a thread that is not the main thread. */
void scenario_first_thread(void);

#endif
