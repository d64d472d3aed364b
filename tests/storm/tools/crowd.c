/* SPDX-License-Identifier: MIT */
/* One of many small libraries that make the process large. */
int storm_crowd(void);

int storm_crowd(void)
{
    return 1;
}
