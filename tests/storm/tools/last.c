/* SPDX-License-Identifier: MIT */
/*
 * A library of the program that calls one of its functions when the process ends, like frameworks
 * that finalize MPI then: in a destructor function, or in the destructor of a static object that
 * was created when the library was loaded or first used.
 */
#include <stddef.h>

enum { DESTRUCTOR, OBJECT, LATE_OBJECT };

/* The C library has these for C++; no header declares them. */
int __cxa_atexit(void (*call)(void *), void *argument, void *object);
extern void *__dso_handle;

void storm_last_call(void (*last)(void), int how);

static void (*functions[LATE_OBJECT + 1])(void); /* NULL: none */

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
