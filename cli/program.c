/* SPDX-License-Identifier: MIT */
/* See program.h. No code of the examined files runs. */
#define _GNU_SOURCE
#include "cli/program.h"

#include "cli/cli.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "util/util.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

bool program_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *program_find(const char *name)
{
    if (strchr(name, '/'))
        return qmpi_copy(name);
    const char *list = getenv("PATH");
    while (*name && list && *list) {
        const size_t length = strcspn(list, ":");
        char *path = qmpi_format("%.*s%s%s", (int)length, list, length ? "/" : "./", name);
        if (access(path, X_OK) == 0 && !program_is_directory(path))
            return path;
        free(path);
        list += length + (list[length] == ':');
    }
    return NULL;
}

char *program_find_argument(const char *argument)
{
    struct stat status;
    char *path = *argument == '-' ? NULL : program_find(argument);
    if (path && stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* Stores the header of the segment that contains the path of the dynamic loader. Returns 1, or 0 if
 * there is no such segment, or -1 if this is no ELF file for this machine. */
static int find_interpreter(int descriptor, ElfW(Phdr) * segment)
{
    ElfW(Ehdr) header;
    if (pread(descriptor, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *segment)
        return -1;
    for (int i = 0; i < header.e_phnum; i++) {
        const off_t at = (off_t)(header.e_phoff + (size_t)i * sizeof *segment);
        if (pread(descriptor, segment, sizeof *segment, at) != (ssize_t)sizeof *segment)
            return -1;
        if (segment->p_type == PT_INTERP)
            return 1;
    }
    return 0;
}

/* Returns whether a program is static. Such a program has no dynamic loader, which could preload
 * libraries. */
static bool is_static(int descriptor)
{
    ElfW(Phdr) segment;
    return find_interpreter(descriptor, &segment) == 0;
}

/* Returns whether the kernel gives the program privileges that this process lacks. Only then does
 * the dynamic loader ignore LD_PRELOAD. The owner of a set-uid program gains no privileges, nor
 * does root from capabilities of a file, nor anyone if privileges are switched off. */
static bool gains_privileges(int descriptor, const struct stat *status)
{
    struct statvfs system;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (fstatvfs(descriptor, &system) == 0 && (system.f_flag & ST_NOSUID)))
        return false;
    const bool group = (status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    return ((status->st_mode & S_ISUID) && status->st_uid != getuid()) ||
           (group && status->st_gid != getgid()) ||
           (getuid() != 0 && fgetxattr(descriptor, "security.capability", NULL, 0) > 0);
}

char *program_obstacle(const char *path)
{
    struct stat status;
    char *obstacle = NULL;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        if (is_static(descriptor))
            obstacle = qmpi_message("%s is statically linked: nothing can be preloaded, and it "
                                    "runs without tools\nhint: link it with libqmpi.a",
                                    path);
        else if (gains_privileges(descriptor, &status))
            obstacle = qmpi_message("%s is a privileged program: nothing is preloaded, the "
                                    "variables of qmpi are ignored, and it runs without tools\n"
                                    "hint: run it without privileges",
                                    path);
    }
    if (descriptor >= 0)
        close(descriptor);
    return obstacle;
}

void program_warn(const char *name)
{
    char *path = program_find(name);
    char *obstacle = path ? program_obstacle(path) : NULL;
    char *hint = obstacle ? strstr(obstacle, "\nhint: ") : NULL;
    if (hint)
        qmpi_printf("%.*s\n  %s", (int)(hint - obstacle), obstacle, hint + 1);
    free(obstacle);
    free(path);
}

/* ---- Launchers ------------------------------------------------------------------------------- */

bool program_is_launcher(const char *path)
{
    static const char *const launchers[] = {"mpiexec", "mpirun", "orterun", "prterun",
                                            "prun",    "srun",   "aprun",   "jsrun"};
    const char *name = qmpi_text_base_name(path);
    const size_t length = strcspn(name, "."); /* mpiexec.hydra, mpirun.openmpi */
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (strlen(launchers[i]) == length && !strncmp(launchers[i], name, length))
            return true;
    }
    return false;
}

/* ---- LD_PRELOAD ------------------------------------------------------------------------------ */

struct preload_search {
    const char *name;
    char *path;
};

/* This process was started with the LD_PRELOAD that the program will inherit, so the libraries of
 * this list are loaded here, too. */
static int match_preloaded(struct dl_phdr_info *info, size_t size, void *data)
{
    struct preload_search *search = data;
    const char *name = info->dlpi_name;
    const char *slash = strrchr(name, '/');
    (void)size;
    if (strcmp(name, search->name) != 0 &&
        (strchr(search->name, '/') || !slash || strcmp(slash + 1, search->name) != 0))
        return 0;
    search->path = qmpi_copy(name);
    return 1;
}

char *program_find_preloaded(const char *name)
{
    struct preload_search search = {name, NULL};
    dl_iterate_phdr(match_preloaded, &search);
    return search.path;
}

bool program_is_preloaded(const char *path)
{
    const char *list = getenv("LD_PRELOAD");
    char *real = realpath(path, NULL);
    bool found = false;
    for (char *name; !found && (name = cli_next_part(&list, " :"));) {
        char *loaded = program_find_preloaded(name);
        char *other = loaded ? realpath(loaded, NULL) : NULL;
        found = real && other && !strcmp(real, other);
        free(other);
        free(loaded);
        free(name);
    }
    free(real);
    return found;
}

bool program_is_unchanged(const char *path, time_t begin)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_mtime <= begin;
}

/* ---- Libraries and programs that use MPI ----------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcmp(text + length - part, end);
}

/* Returns whether a name is that of a procedure of the module mpi_f08, such as mpi_send_f08_,
 * mpi_send_f08ts_ or pmpir_send_f08_. */
static bool is_f08(const char *name)
{
    return (!strncmp(name, "mpi_", 4) || !strncmp(name, "pmpi", 4)) &&
           (ends_with(name, "_f08_") || ends_with(name, "_f08ts_"));
}

/* Returns whether a name is that of a procedure of mpif.h, such as mpi_send_, mpi_send__, mpi_send
 * or MPI_SEND. */
static bool is_mpif(const char *name)
{
    if (strncasecmp(name, "mpi_", 4) != 0 || qmpi_function_find(name) >= 0)
        return false;
    size_t length = strlen(name);
    while (length && name[length - 1] == '_')
        length--;
    for (int number = 0; number < qmpi_name_count; number++) {
        if (strlen(qmpi_names[number].name) == length &&
            !strncasecmp(qmpi_names[number].name, name, length))
            return true;
    }
    return false;
}

static const char libqmpi_mark[] = "QMPIX_Function_name"; /* a function that only libqmpi defines */

struct definitions {
    bool get_version, pget_version, binding, qmpi, registers, sets_asan;
    int functions;
};

static void classify_definition(struct definitions *defined, const char *name)
{
    static const char *const bindings[] = {"pmpi_init_", "pmpi_init__",    "pmpi_init",
                                           "PMPI_INIT",  "pmpi_init_f08_", "mpi_init_f08_"};
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++)
        defined->binding |= !strcmp(name, bindings[i]);
    defined->get_version |= !strcmp(name, "MPI_Get_library_version");
    defined->pget_version |= !strcmp(name, "PMPI_Get_library_version");
    defined->qmpi |= !strcmp(name, libqmpi_mark);
    defined->sets_asan |= !strcmp(name, QMPI_SANITIZER_FUNCTION);
    defined->functions += !strncmp(name, "MPI", 3) && qmpi_function_find(name) >= 0;
}

static void classify_reference(struct definitions *defined, struct program_object *object,
                               const char *name)
{
    defined->registers |= !strcmp(name, "QMPI_Register_tool_name");
    object->loads |= !strcmp(name, "dlopen") || !strcmp(name, "dlmopen");
    if (tolower((unsigned char)name[0]) != 'm' && name[0] != 'p')
        return;
    const int number =
        qmpi_function_find(name) >= 0 ? qmpi_function_find(name) : qmpi_binding_function(name);
    object->calls_init |= number == MPI_INIT_T;
    object->calls_init_thread |= number == MPI_INIT_THREAD_T;
    if (is_f08(name))
        object->calls_f08 = true;
    else if (qmpi_function_find(name) >= 0)
        object->calls_c = true;
    else if (is_mpif(name))
        object->calls_mpif = true;
}

static void read_symbols(const struct qmpi_elf_image *image, struct program_object *object)
{
    struct definitions defined = {.functions = 0};
    for (size_t i = 0; i < image->symbol_count; i++) {
        const char *name = qmpi_elf_string(image, image->symbols[i].st_name);
        if (qmpi_elf_defines(&image->symbols[i]))
            classify_definition(&defined, name);
        else
            classify_reference(&defined, object, name);
    }
    object->kind = qmpi_mpi_kind_of(image);
    object->implementation = qmpi_mpi_implementation_of(image);
    object->qmpi = defined.qmpi;
    object->sets_asan = defined.sets_asan && !defined.qmpi;
    object->binding = defined.binding && !defined.get_version;
    object->mpi_library =
        defined.get_version && defined.pget_version &&
        (!defined.qmpi || object->kind == QMPI_MPI_OPEN_MPI || object->has_static_mpi);
    object->qmpi_tool = defined.registers && !defined.qmpi;
    object->pmpi_tool = defined.functions && !defined.pget_version && !defined.binding &&
                        !defined.qmpi && !defined.registers;
}

static bool is_in_file(const struct qmpi_elf_file *file, const ElfW(Shdr) * section)
{
    return section->sh_offset <= file->size && section->sh_size <= file->size - section->sh_offset;
}

/* Reads the table of all symbols, which a stripped file lacks, as that of the dynamic symbols. */
static struct qmpi_elf_image read_symbol_table(const struct qmpi_elf_file *file)
{
    const char *map = file->map;
    const ElfW(Ehdr) *header = file->map;
    const ElfW(Shdr) *sections = (const void *)(map + header->e_shoff);
    struct qmpi_elf_image image = {.dynamic = NULL};
    if (!header->e_shoff || header->e_shentsize != sizeof *sections ||
        header->e_shoff % sizeof(uint64_t))
        return image;
    for (int i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *symbols = &sections[i];
        if (symbols->sh_type != SHT_SYMTAB || symbols->sh_link >= header->e_shnum ||
            symbols->sh_offset % sizeof(uint64_t))
            continue;
        const ElfW(Shdr) *strings = &sections[symbols->sh_link];
        if (is_in_file(file, symbols) && is_in_file(file, strings) && strings->sh_size &&
            !map[strings->sh_offset + strings->sh_size - 1]) {
            image.symbols = (const void *)(map + symbols->sh_offset);
            image.symbol_count = symbols->sh_size / sizeof *image.symbols;
            image.strings = map + strings->sh_offset;
            image.string_size = strings->sh_size;
        }
    }
    return image;
}

/* Returns whether a program defines functions PMPI_X that are not those of libqmpi. It need not
 * export them. */
static bool defines_pmpi(const struct qmpi_elf_file *file)
{
    const struct qmpi_elf_image image = read_symbol_table(file);
    bool pmpi = false, qmpi = false;
    for (size_t i = 0; i < image.symbol_count; i++) {
        const char *name = qmpi_elf_string(&image, image.symbols[i].st_name);
        if (image.symbols[i].st_shndx == SHN_UNDEF)
            continue;
        pmpi |= !strncmp(name, "PMPI", 4) && qmpi_function_find(name + 1) >= 0;
        qmpi |= !strcmp(name, libqmpi_mark);
    }
    return pmpi && !qmpi;
}

static bool contains_any(const struct qmpi_elf_file *file, const char *const *texts)
{
    bool found = false;
    for (; *texts && !found; texts++)
        found = memmem(file->map, file->size, *texts, strlen(*texts)) != NULL;
    return found;
}

struct program_object program_object_read(const char *path, bool program)
{
    static const char *const library_names[] = {"libmpich", "libmpi.so", "libmpi_abi", NULL};
    /* Parts of a static library that a program does not need are left out, the first two among
     * them. The others are in messages of functions that check their arguments. */
    static const char *const library_texts[] = {
        "MPICH Version:", "Open MPI v", "Attempting to use an MPI routine",
        "function was called before MPI_INIT was invoked", NULL};
    struct program_object object = {.problem = NULL};
    struct qmpi_elf_file file;
    const char *reason =
        program ? qmpi_elf_file_open_program(path, &file) : qmpi_elf_file_open(path, &file);
    if (reason) {
        object.problem = qmpi_copy(reason);
        return object;
    }
    object.names_mpi = contains_any(&file, library_names);
    object.has_static_mpi = (program && defines_pmpi(&file)) || contains_any(&file, library_texts);
    read_symbols(&file.image, &object);
    qmpi_elf_file_close(&file);
    return object;
}

/* ---- The libraries of a program -------------------------------------------------------------- */

/* Returns the path of the program's dynamic loader, or NULL if it has none. The caller frees it. */
static char *read_interpreter(const char *path)
{
    char *interpreter = NULL;
    ElfW(Phdr) segment;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (find_interpreter(descriptor, &segment) > 0 && segment.p_filesz <= 4096) {
        interpreter = qmpi_allocate(segment.p_filesz + 1, 1);
        if (pread(descriptor, interpreter, segment.p_filesz, (off_t)segment.p_offset) < 0)
            *interpreter = '\0';
    }
    close(descriptor);
    return interpreter;
}

/* Reads a line of the loader's list, which has the form `NAME => PATH (ADDRESS)`, `NAME => not
 * found` or `PATH (ADDRESS)`. */
static void read_list_line(char *line, program_library *add, void *data)
{
    char *arrow = strstr(line, " => ");
    char *path = arrow ? arrow + 4 : line;
    char *address = strstr(path, " (0x");
    if (arrow)
        *arrow = '\0';
    if (address)
        *address = '\0';
    if (arrow && !strcmp(path, "not found"))
        add(data, line, NULL);
    else if (*path == '/')
        add(data, line, path);
}

/* Finds a message of the loader about a missing version of symbols. After such an error, the loader
 * continues when it lists libraries, but ends the process in a run. */
static char *find_missing_version(const char *path, const struct cli_child *child)
{
    const char *line = child->errors;
    while (*line) {
        const int length = (int)strcspn(line, "\n");
        const char *found = strstr(line, "' not found (required by ");
        if (found && found < line + length)
            return qmpi_message("the dynamic loader cannot load %s and its dependencies: %.*s\n"
                                "hint: install the required version, or rebuild the library that "
                                "requires it on this system",
                                path, length, line);
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* Describes why the loader failed, or returns NULL if it did not fail. The loader may even crash,
 * for example if a library is truncated. */
static char *describe_failure(const char *path, const struct cli_child *child)
{
    if (!child->status)
        return find_missing_version(path, child);
    const char *said = strstr(child->errors, "error while loading shared libraries: ");
    const char *reason = said                         ? strchr(said, ':') + 2
                         : WIFSIGNALED(child->status) ? strsignal(WTERMSIG(child->status))
                                                      : "it gives no reason";
    return qmpi_message("the dynamic loader cannot load %s and its dependencies: %.*s\n"
                        "hint: reinstall the damaged library",
                        path, (int)strcspn(reason, "\n"), reason);
}

/* The program's own loader is asked, because only this loader knows all rules by which it finds
 * libraries. */
char *program_libraries(const char *path, program_library *add, void *data)
{
    char *interpreter = read_interpreter(path);
    /* This variable makes the loader list the libraries, as for ldd. A loader that does not know
     * the variable would run the program. */
    const char *const command[] = {interpreter, path, NULL};
    const char *const variables[] = {"LD_TRACE_LOADED_OBJECTS", "1", NULL};
    if (!interpreter || !strstr(interpreter, "/ld-linux")) {
        char *problem =
            qmpi_message("%s uses the dynamic loader %s, but qmpi requires the one of the GNU C "
                         "library\nhint: build the program for the GNU C library",
                         path, interpreter ? interpreter : "(none)");
        free(interpreter);
        return problem;
    }
    struct cli_child child = cli_child_run(command, variables);
    char *problem = describe_failure(path, &child);
    char *rest = child.output, *line;
    while ((line = strsep(&rest, "\n"))) {
        if (*line)
            read_list_line(line + strspn(line, "\t "), add, data);
    }
    cli_child_free(&child);
    free(interpreter);
    return problem;
}

/* ---- The MPI library of a program ------------------------------------------------------------ */

/* Recognizes the MPI library by its exports, because names vary. */
static void find_first_mpi(void *data, const char *name, const char *path)
{
    char **found = data;
    (void)name;
    if (*found || !path)
        return;
    const struct program_object object = program_object_read(path, false);
    if (object.mpi_library)
        *found = qmpi_copy(path);
    free(object.problem);
}

char *program_find_mpi(const char *path)
{
    char *found = NULL;
    free(program_libraries(path, find_first_mpi, &found));
    return found;
}

/* ---- Functions of an MPI library ------------------------------------------------------------- */

/* Returns whether a name is that of an MPI function in C. MPI_INIT belongs to Fortran. */
static bool is_mpi_function(const char *name)
{
    return (!strncmp(name, "MPI_", 4) || !strncmp(name, "MPIX_", 5)) &&
           strpbrk(name, "abcdefghijklmnopqrstuvwxyz");
}

const char *program_compare_functions(const char *path, program_function *each, void *data)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (reason)
        return reason;
    bool *provided = qmpi_allocate((size_t)qmpi_name_count, sizeof *provided);
    for (size_t i = 0; i < file.image.symbol_count; i++) {
        const char *name = qmpi_elf_string(&file.image, file.image.symbols[i].st_name);
        const bool pmpi = *name == 'P';
        if (!qmpi_elf_defines(&file.image.symbols[i]) || !is_mpi_function(name + pmpi))
            continue;
        const int number = qmpi_function_find(name + pmpi);
        if (number >= 0)
            provided[number] = true; /* MPI_X suffices, because some libraries lack a few PMPI_X. */
        if (pmpi && (number < 0 || !qmpi_names[number].exists))
            each(data, number, name + 1, true);
    }
    for (int number = 0; number < qmpi_name_count; number++) {
        if (qmpi_names[number].exists && !provided[number])
            each(data, number, qmpi_names[number].name, false);
    }
    free(provided);
    qmpi_elf_file_close(&file);
    return NULL;
}
