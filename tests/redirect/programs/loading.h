/* SPDX-License-Identifier: MIT */
/*
 * Data that a program shares with a library while the library is being loaded. They are at a fixed
 * address, because the references of the library are not bound yet.
 */
#include <stdatomic.h>

struct loading {
    atomic_int began; /* the loader is binding the library's references */
    atomic_int go_on; /* the loader may continue */
};
#define LOADING ((struct loading *)0x6f0000000000)
