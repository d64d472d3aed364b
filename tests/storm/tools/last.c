/* SPDX-License-Identifier: MIT */
/*
 * A library that calls a function of the program when the process ends, like frameworks that
 * finalize MPI at that time. It does so in a destructor function (DESTRUCTOR), or in a function
 * that is registered like the destructor of a static C++ object: when the library is loaded
 * (OBJECT) or first used (LATE_OBJECT).
 */
#include <stddef.h>

enum { DESTRUCTOR, OBJECT, LATE_OBJECT };

/* Compilers of C++ use these for static objects; no header declares them. */
int __cxa_atexit(void (*call)(void *), void *argument, void *object);
extern void *__dso_handle;

void storm_last_call(void (*last)(void), int how);

static void (*functions[LATE_OBJECT + 1])(void); /* NULL if there is nothing to call */

static void destroy(void *argument)
{
    void (**function)(void) = argument;
    if (*function)
        (*function)();
}

void storm_last_call(void (*last)(void), int how)
{
    functions[how] = last;
    if (how == LATE_OBJECT)
        __cxa_atexit(destroy, &functions[LATE_OBJECT], &__dso_handle);
}

__attribute__((constructor)) static void enter(void)
{
    __cxa_atexit(destroy, &functions[OBJECT], &__dso_handle);
}

__attribute__((destructor)) static void leave(void)
{
    destroy(&functions[DESTRUCTOR]);
}
