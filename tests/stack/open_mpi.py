# SPDX-License-Identifier: MIT
"""The settings with which this project starts Open MPI's launcher."""

# Root may start jobs, and jobs may have more ranks than processors. The names of these settings
# differ between Open MPI 4 and PRRTE, the launcher since Open MPI 5; PRRTE still accepts the old
# names, but prints a warning. PRRTE binds spawned processes to cores in spite of the policy `none`,
# so hwloc must find the cores. hwloc need not read the registers of PCI devices, which would take
# about a third of the processor time of a small job. PMIx need not store its few values in mapped files.
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

# Settings for a process without a launcher, which must not start one by itself. If MPI_T was
# initialized first, MPI_Init of Open MPI 4 works only with the pmix component `isolated`, so the
# other components are excluded. Open MPI 5 has none of these components.
SINGLETON = {"OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_pmix": "^cray,ext3x,flux,pmix3x,s1,s2"}
