/* SPDX-License-Identifier: MIT */
/* A library that a tool needs, and that the test removes. */
int missing_answer(void);
int missing_answer(void)
{
    return 42;
}
