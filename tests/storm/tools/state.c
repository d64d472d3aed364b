/* SPDX-License-Identifier: MIT */
/* A library of a PMPI tool that stores the first layer that uses it. It makes no MPI calls. Two
 * layers of the tool must not share a copy of it. */
int storm_state_enter(int layer);

static int owner;

int storm_state_enter(int layer)
{
    int nobody = 0;
    __atomic_compare_exchange_n(&owner, &nobody, layer, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_load_n(&owner, __ATOMIC_RELAXED);
}
