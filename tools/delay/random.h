/* SPDX-License-Identifier: MIT */
/*
 * delay's random numbers. A number is a function of what it decides about (seed, rank, layer,
 * function, n-th call), not of the numbers drawn before it: so a run repeats whatever its threads
 * do meanwhile, and nothing need be kept or locked.
 */
#ifndef QMPI_TOOL_DELAY_RANDOM_H
#define QMPI_TOOL_DELAY_RANDOM_H

#include <stdint.h>

/* One more word into a hash: the finalizer of splitmix64 (Steele, Lea, Flood: "Fast splittable
 * pseudorandom number generators", OOPSLA 2014). */
static inline uint64_t chance_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* From 0 up to but not including 1: the `which`th number that belongs to a hash. */
static inline double chance_real(uint64_t hash, uint64_t which)
{
    return (double)(chance_mix(hash, which) >> 11) * 0x1p-53;
}

#endif
