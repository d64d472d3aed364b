/* SPDX-License-Identifier: MIT */
/* See image.h. Every offset in a file is checked against the file's size before it is followed. */
#define _GNU_SOURCE
#include "elf/image.h"

#include "elf/arch/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t qmpi_elf_tag(const struct qmpi_elf_image *image, int64_t tag, uint64_t otherwise)
{
    for (size_t i = 0; i < image->dynamic_count; i++) {
        if (image->dynamic[i].d_tag == tag)
            return image->dynamic[i].d_un.d_val;
    }
    return otherwise;
}

const char *qmpi_elf_needed(const struct qmpi_elf_image *image, int index)
{
    for (size_t i = 0; i < image->dynamic_count; i++) {
        if (image->dynamic[i].d_tag == DT_NEEDED && index-- == 0)
            return qmpi_elf_string(image, image->dynamic[i].d_un.d_val);
    }
    return NULL;
}

const char *qmpi_elf_soname(const struct qmpi_elf_image *image)
{
    const uint64_t offset = qmpi_elf_tag(image, DT_SONAME, UINT64_MAX);
    return offset == UINT64_MAX ? NULL : qmpi_elf_string(image, offset);
}

/* Returns the number of symbols according to a DT_GNU_HASH table; 0 if the table is empty, or
 * its first `limit` words do not contain all buckets. */
static size_t count_hashed(const uint32_t *gnu_hash, size_t limit)
{
    /* The table consists of nbuckets, symoffset, bloom_size, bloom_shift, bloom words, buckets and
     * chains. */
    const uint32_t bucket_count = gnu_hash[0];
    const uint32_t first = gnu_hash[1];
    const uint64_t bloom_words = (uint64_t)gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint64_t chains_at = 4 + bloom_words + bucket_count;
    if (chains_at > limit)
        return 0;
    const uint32_t *buckets = gnu_hash + 4 + bloom_words;
    const uint32_t *chains = buckets + bucket_count;
    uint32_t last = 0;
    for (const uint32_t *bucket = buckets; bucket < chains; bucket++)
        last = *bucket > last ? *bucket : last;
    if (last < first)
        return 0;
    while (chains_at + (last - first) < limit && !(chains[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

size_t qmpi_elf_symbol_count(const struct qmpi_elf_image *image)
{
    if (image->symbol_count || !image->gnu_hash)
        return image->symbol_count;
    return count_hashed(image->gnu_hash, SIZE_MAX);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static const char *const truncated = "the file is truncated";

static bool is_in_file(const struct qmpi_elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

static const void *at_offset(const struct qmpi_elf_file *file, uint64_t offset)
{
    return (const char *)file->map + offset;
}

static const char *check_identity(const struct qmpi_elf_file *file, bool program)
{
    const unsigned char *ident = file->map;
    if (file->size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return "not an ELF file";
    if (ident[EI_CLASS] == ELFCLASS32)
        return "a 32-bit library; this process is 64-bit";
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        return "built for another processor";
    if (file->size < sizeof(ElfW(Ehdr)))
        return truncated;
    const ElfW(Ehdr) *header = file->map;
    if (header->e_machine != QMPI_ELF_MACHINE)
        return "built for another processor";
    if (header->e_type != ET_DYN && !(program && header->e_type == ET_EXEC))
        return program ? "not a program" : "not a shared library";
    return NULL;
}

static const ElfW(Phdr) * file_segments(const struct qmpi_elf_file *file)
{
    return at_offset(file, ((const ElfW(Ehdr) *)file->map)->e_phoff);
}

/* Checks that the segments are in the file and do not overlap, because the loader maps them where
 * their headers say, even over other mappings. */
static const char *check_segments(const struct qmpi_elf_file *file)
{
    const ElfW(Ehdr) *header = file->map;
    uint64_t end = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *segment = &file_segments(file)[i];
        if (segment->p_type != PT_LOAD)
            continue;
        if (!is_in_file(file, segment->p_offset, segment->p_filesz))
            return truncated;
        if (segment->p_vaddr < end || segment->p_filesz > segment->p_memsz ||
            segment->p_memsz > UINT64_MAX - segment->p_vaddr)
            return "its segments are damaged";
        end = segment->p_vaddr + segment->p_memsz;
    }
    return NULL;
}

static const char *check_whole(const struct qmpi_elf_file *file)
{
    const ElfW(Ehdr) *header = file->map;
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff % sizeof(uint64_t))
        return "its program headers are damaged";
    if (!is_in_file(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(ElfW(Phdr))))
        return truncated;
    if (header->e_shoff &&
        !is_in_file(file, header->e_shoff, (uint64_t)header->e_shnum * header->e_shentsize))
        return truncated;
    return check_segments(file);
}

uint64_t qmpi_elf_file_offset(const struct qmpi_elf_file *file, uint64_t address, uint64_t *left)
{
    const ElfW(Ehdr) *header = file->map;
    for (int i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *segment = &file_segments(file)[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            *left = segment->p_filesz - (address - segment->p_vaddr);
            return segment->p_offset + (address - segment->p_vaddr);
        }
    }
    *left = 0;
    return 0;
}

/* Returns the number of dynamic symbols: from the section header, else from a hash table, else from
 * the addresses of the symbols and strings, else `limit`. */
static size_t count_symbols(const struct qmpi_elf_file *file, uint64_t symbols_at, size_t limit)
{
    const ElfW(Ehdr) *header = file->map;
    if (header->e_shoff && header->e_shentsize == sizeof(ElfW(Shdr)) &&
        header->e_shoff % sizeof(uint64_t) == 0) {
        const ElfW(Shdr) *sections = at_offset(file, header->e_shoff);
        for (int i = 0; i < header->e_shnum; i++) {
            if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_offset == symbols_at)
                return sections[i].sh_size / sizeof(ElfW(Sym));
        }
    }
    uint64_t left;
    const uint64_t hash = qmpi_elf_tag(&file->image, DT_HASH, 0);
    const uint64_t hash_at = hash ? qmpi_elf_file_offset(file, hash, &left) : 0;
    if (hash_at && hash_at % sizeof(uint32_t) == 0 && left >= 2 * sizeof(uint32_t))
        return ((const uint32_t *)at_offset(file, hash_at))[1];
    const uint64_t gnu = qmpi_elf_tag(&file->image, DT_GNU_HASH, 0);
    const uint64_t gnu_at = gnu ? qmpi_elf_file_offset(file, gnu, &left) : 0;
    if (gnu_at && gnu_at % sizeof(uint32_t) == 0 && left >= 4 * sizeof(uint32_t)) {
        const size_t count =
            count_hashed(at_offset(file, gnu_at), (size_t)(left / sizeof(uint32_t)));
        if (count)
            return count;
    }
    /* If the hash table is absent or empty, the number follows from the address of the string
     * table, which linkers place directly after the symbols. */
    const uint64_t strings = qmpi_elf_tag(&file->image, DT_STRTAB, 0);
    const uint64_t symbols = qmpi_elf_tag(&file->image, DT_SYMTAB, 0);
    return strings > symbols ? (size_t)((strings - symbols) / sizeof(ElfW(Sym))) : limit;
}

static const char *read_dynamic(struct qmpi_elf_file *file, bool program)
{
    static const char *const none = "it has no dynamic symbol table";
    const ElfW(Ehdr) *header = file->map;
    struct qmpi_elf_image *image = &file->image;
    for (int i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *segment = &file_segments(file)[i];
        if (segment->p_type != PT_DYNAMIC)
            continue;
        if (!is_in_file(file, segment->p_offset, segment->p_filesz))
            return truncated;
        if (segment->p_offset % sizeof(uint64_t))
            return none;
        image->dynamic = at_offset(file, segment->p_offset);
        image->dynamic_count = segment->p_filesz / sizeof(ElfW(Dyn));
    }
    for (size_t i = 0; i < image->dynamic_count; i++) {
        if (image->dynamic[i].d_tag == DT_NULL)
            image->dynamic_count = i;
    }
    uint64_t left;
    const uint64_t symbols = qmpi_elf_tag(image, DT_SYMTAB, 0);
    const uint64_t symbols_at = qmpi_elf_file_offset(file, symbols, &left);
    if (!symbols || !symbols_at || symbols_at % sizeof(uint64_t) ||
        !is_in_file(file, symbols_at, left))
        return none;
    const size_t limit = (size_t)(left / sizeof(ElfW(Sym)));
    image->symbols = at_offset(file, symbols_at);
    const size_t count = count_symbols(file, symbols_at, limit);
    image->symbol_count = count < limit ? count : limit;

    const uint64_t strings = qmpi_elf_tag(image, DT_STRTAB, 0);
    const uint64_t strings_at = qmpi_elf_file_offset(file, strings, &left);
    const uint64_t size = qmpi_elf_tag(image, DT_STRSZ, 0);
    if (!strings || !strings_at || !size || size > left || !is_in_file(file, strings_at, size))
        return none;
    image->strings = at_offset(file, strings_at);
    image->string_size = (size_t)size;
    if (image->strings[size - 1] != '\0')
        return none;
    if (!program && (qmpi_elf_tag(image, DT_FLAGS_1, 0) & DF_1_PIE))
        return "a program, not a library";
    return NULL;
}

/*
 * check_hash and check_relocations check data for which the loader has assertions, which would end
 * the process without a signal: the filter size of the hash table, the size and kind of
 * relocations, and whether those that DT_RELACOUNT counts are relative. Other damage causes a
 * signal, which loader/problem.c reports.
 */
static const char *check_hash(const struct qmpi_elf_file *file)
{
    static const char *const damaged = "its hash table is damaged";
    uint64_t left;
    const uint64_t table = qmpi_elf_tag(&file->image, DT_GNU_HASH, 0);
    const uint64_t at = qmpi_elf_file_offset(file, table, &left);
    if (!table)
        return NULL;
    if (!at || at % sizeof(uint32_t) || left < 4 * sizeof(uint32_t) || !is_in_file(file, at, left))
        return damaged;
    const uint32_t filter = ((const uint32_t *)at_offset(file, at))[2];
    return filter & (filter - 1) ? damaged : NULL;
}

static const char *check_relocations(const struct qmpi_elf_file *file)
{
    static const char *const damaged = "its relocations are damaged";
    const struct qmpi_elf_image *image = &file->image;
    uint64_t left;
    const uint64_t at = qmpi_elf_file_offset(file, qmpi_elf_tag(image, DT_RELA, 0), &left);
    const uint64_t count = qmpi_elf_tag(image, DT_RELACOUNT, 0);
    if (qmpi_elf_tag(image, DT_RELAENT, 0) > 0 &&
        qmpi_elf_tag(image, DT_RELAENT, 0) != sizeof(ElfW(Rela)))
        return damaged;
    if (qmpi_elf_tag(image, DT_PLTRELSZ, 0) && qmpi_elf_tag(image, DT_PLTREL, 0) != DT_RELA)
        return damaged;
    if (!count)
        return NULL;
    if (at % sizeof(uint64_t) || count > left / sizeof(ElfW(Rela)) || !is_in_file(file, at, left))
        return damaged;
    const ElfW(Rela) *relocations = at_offset(file, at);
    for (uint64_t i = 0; i < count; i++) {
        if (ELF64_R_TYPE(relocations[i].r_info) != QMPI_ELF_RELATIVE)
            return damaged;
    }
    return NULL;
}

static const char *map_file(const char *path, struct qmpi_elf_file *file)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return strerror(errno);
    struct stat status;
    const char *reason = NULL;
    if (fstat(descriptor, &status) != 0)
        reason = strerror(errno);
    else if (S_ISDIR(status.st_mode))
        reason = "a directory";
    else if (!S_ISREG(status.st_mode))
        reason = "not a regular file";
    else if (status.st_size == 0)
        reason = "an empty file";
    if (!reason) {
        file->size = (size_t)status.st_size;
        file->map = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file->map == MAP_FAILED)
            reason = strerror(errno);
    }
    close(descriptor);
    return reason;
}

static const char *open_image_file(const char *path, struct qmpi_elf_file *file, bool program)
{
    *file = (struct qmpi_elf_file){.map = NULL};
    const char *reason = map_file(path, file);
    if (reason)
        return reason;
    reason = check_identity(file, program);
    if (!reason)
        reason = check_whole(file);
    if (!reason)
        reason = read_dynamic(file, program);
    if (!reason && !program)
        reason = check_hash(file);
    if (!reason && !program)
        reason = check_relocations(file);
    if (reason)
        qmpi_elf_file_close(file);
    return reason;
}

const char *qmpi_elf_file_open(const char *path, struct qmpi_elf_file *file)
{
    return open_image_file(path, file, false);
}

const char *qmpi_elf_file_open_program(const char *path, struct qmpi_elf_file *file)
{
    return open_image_file(path, file, true);
}

void qmpi_elf_file_close(struct qmpi_elf_file *file)
{
    munmap(file->map, file->size);
    *file = (struct qmpi_elf_file){.map = NULL};
}

bool qmpi_elf_file_same(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}
