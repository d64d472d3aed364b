/* SPDX-License-Identifier: MIT */
/* The library that a tool needs, and that the test takes away. */
int missing_answer(void);
int missing_answer(void)
{
    return 42;
}
