/* SPDX-License-Identifier: MIT */
/* A small library. A process loads many copies of it. */
int storm_crowd(void);

int storm_crowd(void)
{
    return 1;
}
