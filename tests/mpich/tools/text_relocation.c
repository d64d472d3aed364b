/* SPDX-License-Identifier: MIT */
/* A library with a relocation in its code, as code that was not built with -fPIC has: libqmpi
 * cannot change this reference. With REFERS, it is a reference to a call of the variant. */
__asm__(".text\n"
        ".balign 8\n"
#ifdef REFERS
        ".quad QMPI_Register_tool_name\n"
#else
        ".quad stdout\n"
#endif
);
