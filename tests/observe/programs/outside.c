/* SPDX-License-Identifier: MIT */
/*
 * Calls functions that are allowed before MPI_Init and after MPI_Finalize, and MPI_Pcontrol with
 * different arguments, on one rank.
 */
#include "expect.h"

static void any_time(void)
{
    int flag, subversion, length, provided, count;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    DO(Initialized, (&flag), "");
    DO(Finalized, (&flag), "");
    DO(Get_version, (&flag, &subversion), "");
    DO(Get_library_version, (text, &length), "");
    DO(T_init_thread, (MPI_THREAD_SINGLE, &provided),
       says("a.required=%d a.provided=%p", MPI_THREAD_SINGLE, (void *)&provided));
    DO(T_cvar_get_num, (&count), "");
}

int main(int argc, char **argv)
{
    static const char name[] = "region";
    expect_begin(argc, argv);
    any_time();
    DO(Init, (&argc, &argv), says("a.argc=%p a.argv=%p", (void *)&argc, (void *)&argv));
    any_time();
    DO(Pcontrol, (0), "a.level=0");
    DO(Pcontrol, (7, 11L, 12L, 2.5, 3.5), "a.level=7 a.words=11,12,2.5,3.5");
    DO(Pcontrol, (1, name), says("a.level=1 a.words=%ld,*", (long)name));
    DO(Finalize, (), "");
    any_time();
    for (int i = 0; i < 3; i++)
        DO(T_finalize, (), "");
    return 0;
}
