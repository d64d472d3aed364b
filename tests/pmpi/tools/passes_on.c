/* SPDX-License-Identifier: MIT */
/* A plugin of the program. Another library makes its MPI calls. */
void make_calls(int count);
void plugin_calls(int count);
void plugin_calls(int count)
{
    make_calls(count);
}
