/* SPDX-License-Identifier: MIT */
/* A library that a PMPI tool needs. It makes no MPI calls. Each layer of the tool must have its own
 * copy of it. */

/* Returns the number of the first layer that called this function. */
int storm_state_enter(int layer);

static int owner;

int storm_state_enter(int layer)
{
    int nobody = 0;
    __atomic_compare_exchange_n(&owner, &nobody, layer, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_load_n(&owner, __ATOMIC_RELAXED);
}
