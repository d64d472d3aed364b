# SPDX-License-Identifier: MIT
"""What Open MPI's launcher is told wherever this project starts it."""

# It may be started by root, and with more ranks than processors. PRRTE, the launcher since Open MPI 5,
# has taken different names in its versions; it warns of the old ones, which it still takes. It places spawned
# processes on cores, which hwloc must therefore find; it need not read the registers of PCI devices, which takes
# a third of the processor time of a small job. Nor need PMIx keep its few values in files that are mapped.
LAUNCHER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:OVERSUBSCRIBE",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "HWLOC_COMPONENTS": "linux,-linux:pci,-linux:io,no_os,stop",
    "PMIX_MCA_gds": "hash",
    "PMIX_MCA_mca_base_suppress_deprecated_warning": "1",
}

# A process without a launcher starts none either. MPI_Init of Open MPI 4 also takes the component `isolated`
# if MPI_T was initialized before it; Open MPI 5 has neither this component nor those.
SINGLETON = {"OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_pmix": "^cray,ext3x,flux,pmix3x,s1,s2"}
