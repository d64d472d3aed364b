/* SPDX-License-Identifier: MIT */
/* See environment.h. */
#define _GNU_SOURCE
#include "tools/profile/collect/environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { NAME_MOST = 128, VALUE_MOST = 4096 }; /* bytes */

/* ---- Selection of variables ------------------------------------------------------------------ */

/* Settings of MPI libraries and their launchers, of libraries for networks, and of libraries that
 * start threads. */
static const char *const prefixes[] = {
    "MPICH_", "MPIR_CVAR_", "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "I_MPI_", "MV2_",
    "MVP_",   "HYDRA_",     "ROMIO_",    "UCX_",      "UCC_",      "FI_",    "PSM2_",
    "PSM3_",  "HFI_",       "HCOLL_",    "SHARP_",    "NCCL_",     "OMP_",   "GOMP_",
    "KMP_",   "MKL_",       "OPENBLAS_", "BLIS_",     NULL};

/* Variables of batch systems that describe the job and how its ranks are distributed, and variables
 * that tell which devices a process may use. Other variables of batch systems are left out, because
 * many of them differ from rank to rank. */
static const char *const names[] = {"SLURM_JOB_NAME",
                                    "SLURM_JOB_PARTITION",
                                    "SLURM_JOB_NODELIST",
                                    "SLURM_STEP_NODELIST",
                                    "SLURM_NNODES",
                                    "SLURM_NTASKS",
                                    "SLURM_NTASKS_PER_NODE",
                                    "SLURM_TASKS_PER_NODE",
                                    "SLURM_CPUS_PER_TASK",
                                    "SLURM_THREADS_PER_CORE",
                                    "SLURM_CPU_BIND",
                                    "SLURM_DISTRIBUTION",
                                    "SLURM_HINT",
                                    "SLURM_MPI_TYPE",
                                    "PBS_JOBNAME",
                                    "PBS_QUEUE",
                                    "LSB_JOBNAME",
                                    "LSB_QUEUE",
                                    "LSB_MCPU_HOSTS",
                                    "CUDA_VISIBLE_DEVICES",
                                    "HIP_VISIBLE_DEVICES",
                                    "ROCR_VISIBLE_DEVICES",
                                    "ZE_AFFINITY_MASK",
                                    NULL};

/* Launchers use these variables to tell the processes about each other. They are left out, because
 * they are no settings. */
static const char *const internal[] = {"OMPI_MCA_orte_",
                                       "OMPI_MCA_ess",
                                       "OMPI_MCA_pmix",
                                       "OMPI_MCA_initial",
                                       "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
                                       "PRTE_MCA_prte_",
                                       "PRTE_MCA_ess",
                                       NULL};

static const char *const secret[] = {"TOKEN",  "SECRET", "PASS", "KEY", "CREDENTIAL",
                                     "COOKIE", "AUTH",   "JWT",  NULL};

static bool begins_with_any(const char *name, const char *const *heads)
{
    for (; *heads; heads++) {
        if (!strncmp(name, *heads, strlen(*heads)))
            return true;
    }
    return false;
}

static bool is_any(const char *name, const char *const *all)
{
    for (; *all; all++) {
        if (!strcmp(name, *all))
            return true;
    }
    return false;
}

static bool contains_any(const char *name, const char *const *words)
{
    for (; *words; words++) {
        if (strcasestr(name, *words))
            return true;
    }
    return false;
}

/* Returns whether a variable is reported. A variable whose value contains an address of a service
 * (tcp://…) is not, because the address may contain a password. */
static bool is_meant(const char *name, const char *value)
{
    return (begins_with_any(name, prefixes) || is_any(name, names)) &&
           !begins_with_any(name, internal) && !contains_any(name, secret) && !strstr(value, "://");
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void add_environment_variable(struct environment *environment, const char *name,
                                     const char *value)
{
    struct profile_variable *grown =
        realloc(environment->variables, (environment->count + 1) * sizeof *grown);
    if (!grown)
        return;
    environment->variables = grown;
    struct profile_variable *variable = &grown[environment->count];
    *variable = (struct profile_variable){strdup(name), strndup(value, VALUE_MOST)};
    if (variable->name && variable->value) {
        environment->count++;
    } else {
        free(variable->name);
        free(variable->value);
    }
}

static int compare_variables(const void *a, const void *b)
{
    const struct profile_variable *left = a, *right = b;
    return strcmp(left->name, right->name);
}

void environment_read(struct environment *environment)
{
    char name[NAME_MOST];
    *environment = (struct environment){NULL, 0};
    if (getauxval(AT_SECURE))
        return; /* Another user may have set the variables of a privileged program. */
    for (char **it = environ; it && *it; it++) {
        const size_t length = strcspn(*it, "=");
        if (!(*it)[length] || length >= sizeof name)
            continue;
        memcpy(name, *it, length);
        name[length] = '\0';
        if (is_meant(name, *it + length + 1))
            add_environment_variable(environment, name, *it + length + 1);
    }
    if (environment->count)
        qsort(environment->variables, environment->count, sizeof *environment->variables,
              compare_variables);
}

bool environment_copy(const struct environment *environment, struct profile_result *result)
{
    if (!environment->count)
        return true;
    result->environment = calloc(environment->count, sizeof *result->environment);
    if (!result->environment)
        return false;
    result->variable_count = environment->count;
    for (size_t i = 0; i < environment->count; i++) {
        struct profile_variable *variable = &result->environment[i];
        variable->name = strdup(environment->variables[i].name);
        variable->value = strdup(environment->variables[i].value);
        if (!variable->name || !variable->value)
            return false;
    }
    return true;
}
