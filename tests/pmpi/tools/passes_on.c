/* SPDX-License-Identifier: MIT */
/* A plugin of the program. It calls another library, which makes the MPI calls. */
void make_calls(int count);
void plugin_calls(int count);
void plugin_calls(int count)
{
    make_calls(count);
}
