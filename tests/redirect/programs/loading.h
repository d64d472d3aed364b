/* SPDX-License-Identifier: MIT */
/*
 * What a program and a library that it loads say to each other while that is being loaded: at an
 * address that both know, for the library's references are not bound yet.
 */
#include <stdatomic.h>

struct loading {
    atomic_int began; /* the loader is binding the library's references */
    atomic_int go_on; /* it may */
};
#define LOADING ((struct loading *)0x6f0000000000)
