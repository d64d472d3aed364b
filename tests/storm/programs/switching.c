/* SPDX-License-Identifier: MIT */
/*
 * Steps that switch layers off and on. Not every program is linked with libqmpi, so
 * QMPIX_Tool_set_enabled is looked up. If no thread calls MPI during a switch, the number of calls
 * that a layer must see is exact. In a race, only a minimum and a maximum are known for the layers
 * that are switched; the other layers must see all calls.
 */
#include "program.h"

#include <dlfcn.h>
#include <sched.h>

enum { OFF, ON, RACING };

int (*storm_set_enabled(void))(int, int)
{
    static int (*function)(int, int);
    int layers = 0;
    int (*count)(int *) = (int (*)(int *))(uintptr_t)dlsym(RTLD_DEFAULT, "QMPIX_Tool_count");
    if (!function && getenv("QMPI_TOOLS"))
        function = (int (*)(int, int))(uintptr_t)dlsym(RTLD_DEFAULT, "QMPIX_Tool_set_enabled");
    return count && count(&layers) == MPI_SUCCESS && layers ? function : NULL;
}

/* Returns the number of calls that reached the place of the layer: calls of the program, calls of
 * layers by MPI_X, and calls of the layers above to the layers below them. */
static uint64_t arrived(int layer, int function)
{
    uint64_t sum = storm->program[function];
    for (int i = 1; i < STORM_LAYERS; i++)
        sum += storm->layer[i].top[function] + (i < layer ? storm->layer[i].down[function] : 0);
    return sum;
}

/* For the calls that have reached the layer's place since it was last switched: adds them to `low`
 * if the layer must have seen all of them, and to `high` if it may have seen any. */
static void settle(int number)
{
    struct storm_layer *layer = &storm->layer[number];
    for (int i = 0; i < STORM_FUNCTIONS; i++) {
        const uint64_t now = arrived(number, i), more = now - layer->mark[i];
        layer->low[i] += layer->on == ON ? more : 0;
        layer->high[i] += layer->on != OFF ? more : 0;
        layer->mark[i] = now;
    }
}

static void switch_layer(struct storm_thread *thread, const long *a)
{
    const int layer = (int)a[0];
    (void)thread;
    if (!storm_set_enabled())
        return;
    settle(layer);
    CHECK(storm_set_enabled()(layer, (int)a[1]) == MPI_SUCCESS);
    storm->layer[layer].on = a[1] ? ON : OFF;
}

/* race_begins and race_ends are the steps before and after a phase in which the layers of the set
 * a[0] are switched. After this phase, all of them are on. */
static void race_begins(struct storm_thread *thread, const long *a)
{
    (void)thread;
    storm->racing = 1;
    for (int i = 1; i < STORM_LAYERS; i++) {
        if (a[0] >> i & 1) {
            settle(i);
            storm->layer[i].on = RACING;
        }
    }
}

static void race_ends(struct storm_thread *thread, const long *a)
{
    (void)thread;
    storm->racing = 0;
    for (int i = 1; i < STORM_LAYERS; i++) {
        if (a[0] >> i & 1) {
            settle(i);
            storm->layer[i].on = ON;
        }
    }
}

/* race SET SWITCHES NUMBER: chooses a layer at random, SWITCHES times, and switches it if it is in
 * the set. NUMBER is part of the seed. At the end, switches all layers of the set on. */
static void race(struct storm_thread *thread, const long *a)
{
    uint64_t state = thread->prime + (uint64_t)a[2];
    int off = 0;
    if (!storm_set_enabled())
        return;
    for (long i = 0; i < a[1]; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const int layer = 1 + (int)(state >> 33) % (STORM_LAYERS - 1);
        if (!(a[0] >> layer & 1))
            continue;
        off ^= 1 << layer;
        CHECK(storm_set_enabled()(layer, !(off >> layer & 1)) == MPI_SUCCESS);
        if (i % 8 == 0)
            sched_yield();
    }
    for (int i = 1; i < STORM_LAYERS; i++)
        if (a[0] >> i & 1)
            CHECK(storm_set_enabled()(i, 1) == MPI_SUCCESS);
}

const struct storm_action storm_switch_actions[] = {{"switch", switch_layer},
                                                    {"race_begins", race_begins},
                                                    {"race_ends", race_ends},
                                                    {"race", race},
                                                    {0}};
