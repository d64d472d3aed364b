/* SPDX-License-Identifier: MIT */
/* The exports of an invented MPI library: only their names matter. */
#define EXPORT(name)                                                                               \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
    }
EXPORT(PMPI_Init)
EXPORT(PMPI_Finalize)
EXPORT(PMPI_Group_range_incl)
EXPORT(PMPI_Pcontrol)
EXPORT(PMPI_Wtime)
EXPORT(PMPI_Comm_f2c)
EXPORT(PMPI_Keyval_create)
EXPORT(PMPIX_Small_news)
EXPORT(PMPI_Recv) /* exported, but not declared */
EXPORT(PMPIR_Internal)
