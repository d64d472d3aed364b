/* SPDX-License-Identifier: MIT */
/* See walk_frames.h. This file is compiled in several ways. WALK_FRAMES is the name of its
 * function. */
#include "walk_frames.h"

#include <alloca.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __ARM_FEATURE_SVE
#include <arm_sve.h>
#endif

#define FUNCTION static __attribute__((noinline, noclone))
/* The statement after a call keeps the call from becoming a tail call. */
#define STAY() __asm__ volatile("" ::: "memory")
#define USE(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

enum { DEPTH = 12 };

static walk_visitor *visitor;
static unsigned state = 1;

static unsigned draw(unsigned below)
{
    state = state * 1103515245 + 12345;
    return (state >> 16) % below;
}

/* Has no frame, unless the compiler's options require one. */
FUNCTION int read_from(const int *place)
{
    return *place + 1;
}

FUNCTION void wander(int depth);

FUNCTION void plain(int depth)
{
    wander(depth);
    STAY();
}

FUNCTION void allocate(int depth)
{
    char *memory = alloca(16 * draw(300) + 16);
    memory[0] = 1;
    USE(memory);
    wander(depth);
    STAY();
}

FUNCTION void vary(int depth, size_t size)
{
    double array[size];
    array[0] = depth;
    USE(array);
    wander(depth);
    STAY();
}

FUNCTION void align(int depth)
{
    char aligned[256] __attribute__((aligned(128)));
    aligned[0] = 1;
    USE(aligned);
    wander(depth);
    STAY();
}

FUNCTION void large(int depth)
{
    char array[40000];
    array[0] = 1;
    USE(array);
    wander(depth);
    STAY();
}

/* On some processors, one instruction cannot add the size of this frame. */
FUNCTION void huge(int depth)
{
    char array[1100000];
    array[0] = 1;
    USE(array);
    wander(depth - DEPTH / 2); /* the stack has room for only a few of these frames */
    STAY();
}

/* The last arguments are on the stack, at the bottom of the caller's frame. */
FUNCTION long take(int depth, long b, long c, long d, long e, long f, long g, long h, long i,
                   long j, long k, long l, long m)
{
    wander(depth);
    STAY();
    return b + c + d + e + f + g + h + i + j + k + l + m;
}

FUNCTION void pass(int depth)
{
    long sum = take(depth, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, depth);
    USE(sum);
}

/* With optimization, keeps values in callee-saved registers across the call. */
FUNCTION long keep(int depth, const long *from)
{
    const long a = from[0], b = from[1], c = from[2], d = from[3], e = from[4], f = from[5];
    const long g = from[6], h = from[7], i = from[8], j = from[9], k = from[10];
    const double x = (double)from[1] / 3, y = (double)from[2] / 5, z = (double)from[3] / 7;
    wander(depth);
    STAY();
    return a + b * c + d * e + f * g + h * i + j * k + (long)(x * y * z);
}

/* Only one of the two paths through the function needs a frame. */
FUNCTION int wrap(int depth, const int *place)
{
    if (!place)
        return depth;
    const int before = place[0], more = place[1];
    wander(depth);
    STAY();
    return before + more;
}

/* With scalable vectors, the size of the frame depends on their length, and on `size`. */
FUNCTION void keep_vectors(int depth, size_t size)
{
#ifdef __ARM_FEATURE_SVE
    double numbers[4] = {1, 2, 3, 4};
    char array[size];
    const svbool_t used = svwhilelt_b64(0, 4);
    const svfloat64_t a = svld1(used, numbers), b = svmul_x(used, a, a);
    USE(array);
    wander(depth);
    svst1(used, numbers, svadd_x(used, a, b));
    USE(numbers);
#else
    vary(depth, size);
#endif
}

FUNCTION void keep_vectors_only(int depth)
{
#ifdef __ARM_FEATURE_SVE
    double numbers[4] = {1, 2, 3, 4};
    const svbool_t used = svwhilelt_b64(0, 4);
    const svfloat64_t a = svld1(used, numbers), b = svmul_x(used, a, a);
    wander(depth);
    svst1(used, numbers, svadd_x(used, a, b));
    USE(numbers);
#else
    plain(depth);
#endif
}

static int compare(const void *a, const void *b)
{
    (void)b;
    wander(*(const int *)a);
    STAY();
    return 0;
}

/* A function of a library, qsort, calls back. */
FUNCTION void sort(int depth)
{
    static void (*volatile function)(void *, size_t, size_t, int (*)(const void *, const void *)) =
        qsort;
    int items[] = {depth, depth};
    function(items, 2, sizeof *items, compare);
    STAY();
}

FUNCTION void wander(int depth)
{
    static const long numbers[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const int pair[2] = {1, 2};
    if (depth <= 0 && visitor) {
        visitor();
        STAY();
        return;
    }
    if (depth <= 0) {
        const int read = read_from((const int *)(uintptr_t)8);
        USE((uintptr_t)read);
        return;
    }
    switch (draw(13)) {
    case 0:
        allocate(depth - 1);
        break;
    case 1:
        vary(depth - 1, draw(500) + 1);
        break;
    case 2:
        align(depth - 1);
        break;
    case 3:
        large(depth - 1);
        break;
    case 4:
        huge(depth - 1);
        break;
    case 5:
        pass(depth - 1);
        break;
    case 6:
        keep(depth - 1, numbers);
        break;
    case 7:
        wrap(depth, NULL);
        wrap(depth - 1, pair);
        break;
    case 8:
        sort(draw(2) ? depth - 2 : 0);
        break;
    case 9:
        keep_vectors(depth - 1, draw(50) + 1);
        break;
    case 10:
        keep_vectors_only(depth - 1);
        break;
    default:
        plain(depth - 1);
    }
    STAY();
}

void WALK_FRAMES(walk_visitor *visit)
{
    visitor = visit;
    wander((int)draw(DEPTH));
    STAY();
}
