/* SPDX-License-Identifier: MIT */
/* One of many small libraries that a big program has loaded. */
int storm_crowd(void);

int storm_crowd(void)
{
    return 1;
}
