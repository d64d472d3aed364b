/* SPDX-License-Identifier: MIT */
/* A PMPI tool's own library without MPI calls, which stores the layer that uses it. Two layers of
 * the tool must not share it. */
int storm_state_enter(int layer);

static int owner;

int storm_state_enter(int layer)
{
    int nobody = 0;
    __atomic_compare_exchange_n(&owner, &nobody, layer, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_load_n(&owner, __ATOMIC_RELAXED);
}
