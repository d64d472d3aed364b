/* SPDX-License-Identifier: MIT */
/* A library that does nothing. A process loads many copies of it. It defines no variable, because a
 * sanitizer would report the variable as defined twice. */
int one_of_many(void);
int one_of_many(void)
{
    return 1;
}
