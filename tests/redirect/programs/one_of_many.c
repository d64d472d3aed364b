/* SPDX-License-Identifier: MIT */
/* A library that does nothing: copies of it make a process large. It defines no variable, which a
   sanitizer would report as defined twice. */
int one_of_many(void);
int one_of_many(void)
{
    return 1;
}
