/* SPDX-License-Identifier: MIT */
/* A library that does nothing: copies of it make a process large. */
extern int one_of_many;
int one_of_many = 1;
