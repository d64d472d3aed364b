# SPDX-License-Identifier: MIT
"""The settings for Open MPI's launcher, for all places where this project starts it."""

# Root may start it, with more ranks than processors. The names of these settings differ between
# versions of PRRTE, the launcher since Open MPI 5; it still accepts the old names, but prints a
# warning. hwloc must find the cores, because PRRTE binds spawned processes to them. It need not
# read the registers of PCI devices, which takes a third of the processor time of a small job. PMIx
# need not store its few values in mapped files.
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

# A process without a launcher does not start one. MPI_Init of Open MPI 4 also needs the component
# `isolated` if MPI_T was initialized before; Open MPI 5 has neither this component nor the excluded
# ones.
SINGLETON = {"OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_pmix": "^cray,ext3x,flux,pmix3x,s1,s2"}
