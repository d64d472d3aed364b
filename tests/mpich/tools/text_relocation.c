/* SPDX-License-Identifier: MIT */
/* A library with a relocation in its code, as code that was not built with -fPIC has: libqmpi
 * cannot change this reference. With REFERS, it refers to a function of MPICH's variant of QMPI,
 * otherwise to stdout. */
__asm__(".text\n"
        ".balign 8\n"
#ifdef REFERS
        ".quad QMPI_Register_tool_name\n"
#else
        ".quad stdout\n"
#endif
);
