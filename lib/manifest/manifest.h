/* SPDX-License-Identifier: MIT */
/*
 * Manifests of tools: what a tool does and needs, in a file NAME.json, so that the command need not
 * load the tool to know it. docs/run/qmpi-manifest-1.schema.json describes the format. libqmpi
 * itself reads no manifests. Terminates the process if memory is exhausted.
 */
#ifndef QMPI_MANIFEST_MANIFEST_H
#define QMPI_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

enum manifest_kind { MANIFEST_KIND_UNKNOWN = -1, MANIFEST_QMPI, MANIFEST_PMPI, MANIFEST_MPICH };
enum manifest_place { MANIFEST_ANYWHERE, MANIFEST_APPLICATION, MANIFEST_MPI };

struct manifest_list {
    char **items;
    int count;
};

/* An option of the tool, or an environment variable that it reads. */
struct manifest_option {
    char *name;
    char *default_value; /* NULL: none */
    char *help;          /* NULL: none */
};

struct manifest_options {
    struct manifest_option *items;
    int count;
};

struct manifest_conflict {
    char *tool;     /* its name; a pattern, as in the shell */
    char *reason;   /* NULL: none is given */
    bool preloaded; /* only if one of the two is preloaded */
};

/* All strings may be NULL, and all lists may be empty, but for `path` and `name`. */
struct manifest {
    char *path;        /* of the manifest's file */
    char *name;        /* of the tool */
    char *description; /* one line */
    enum manifest_kind kind;
    struct manifest_list mpi; /* the MPIs that it was built for: mpich, openmpi, abi */
    struct manifest_options options, environment;
    enum manifest_place place;
    char *place_reason;
    struct manifest_list needed_tools; /* patterns */
    struct manifest_list needed_variables;
    struct manifest_conflict *conflicts;
    int conflict_count;
    struct manifest_list replaces; /* functions outside MPI */
    bool communicates;
    struct manifest_list communicates_with; /* only with these options, KEY=VALUE */
    struct manifest_list output_files;
    bool output_shared;  /* two layers of the tool write the same files */
    char *output_option; /* unless this option of theirs differs */
    bool walks_stack, fortran_wrappers;
    struct manifest_list notes;
};

/* Whether a text is meant as a manifest: it contains "qmpi-manifest/". */
bool manifest_is_meant(const char *text, size_t size);

/*
 * Reads the text of a manifest. `path` is for messages; `name` is the tool's unless the text gives
 * another one. Returns NULL if the text is no manifest, or an invalid one: *problem is then a
 * message with a hint, which the caller frees, and otherwise NULL.
 */
struct manifest *manifest_parse(const char *text, size_t size, const char *path, const char *name,
                                char **problem);

/*
 * Finds the manifest of the library at `path`: NAME.json in the directory of the path, in the
 * directory of the file that it leads to, then in `folders` (NULL at the end). NAME is that of the
 * library without `lib` and `.so…`. Returns NULL if there is none, or if it is invalid: *problem is
 * then a message with a hint, which the caller frees, and otherwise NULL.
 */
struct manifest *manifest_find(const char *path, const char *const *folders, char **problem);

/* Returns the name of a library's file without `lib` and `.so…`; the caller frees it. */
char *manifest_tool_name(const char *path);

/* NULL is allowed. */
void manifest_free(struct manifest *manifest);

#endif
