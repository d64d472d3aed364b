/* SPDX-License-Identifier: MIT */
/* A library that a tool needs, but does not find in the test. */
int missing_answer(void);
int missing_answer(void)
{
    return 42;
}
