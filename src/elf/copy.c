/* SPDX-License-Identifier: MIT */
/* See copy.h. */
#define _GNU_SOURCE
#include "elf/copy.h"

#include "elf/search.h"
#include "util/util.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The string table of the copy: that of the original, followed by additional strings. */
struct strings {
    char *text;
    size_t size, room;
};

static void add_bytes(struct strings *strings, const char *bytes, size_t size)
{
    if (!QMPI_MEMORY_RESERVE(strings->text, strings->room, strings->size + size))
        qmpi_memory_exhausted();
    memcpy(strings->text + strings->size, bytes, size);
    strings->size += size;
}

static size_t add_string(struct strings *strings, const char *string)
{
    const size_t offset = strings->size;
    add_bytes(strings, string, strlen(string) + 1);
    return offset;
}

static bool write_at(int descriptor, off_t at, const void *bytes, size_t size)
{
    const char *rest = bytes;
    while (size) {
        const ssize_t written = pwrite(descriptor, rest, size, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        rest += written;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

/* ---- The dynamic section --------------------------------------------------------------------- */

struct dynamic {
    ElfW(Dyn) * entries;
    size_t count;
};

static ElfW(Dyn) * add_dynamic_entry(struct dynamic *dynamic, int64_t tag, uint64_t value)
{
    ElfW(Dyn) *entry = &dynamic->entries[dynamic->count++];
    entry->d_tag = tag;
    entry->d_un.d_val = value;
    return entry;
}

/* Returns the dynamic section of the copy; place_strings later sets the address and size of the
 * string table. */
static struct dynamic make_dynamic(const struct qmpi_elf_image *image, struct strings *strings,
                                   const struct qmpi_elf_copy *copy)
{
    struct dynamic dynamic = {qmpi_allocate(image->dynamic_count + 2, sizeof *dynamic.entries), 0};
    for (size_t i = 0; i < image->dynamic_count; i++) {
        const int64_t tag = image->dynamic[i].d_tag;
        const uint64_t value = image->dynamic[i].d_un.d_val;
        if (tag == DT_SONAME || tag == DT_SYMBOLIC)
            continue;
        ElfW(Dyn) *entry = add_dynamic_entry(&dynamic, tag, value);
        if (tag == DT_NEEDED) {
            const char *other = copy->needed(copy->data, qmpi_elf_string(image, value));
            if (other)
                entry->d_un.d_val = add_string(strings, other);
        } else if (tag == DT_RUNPATH || tag == DT_RPATH) {
            char *path = qmpi_elf_expand_origin(qmpi_elf_string(image, value), copy->directory);
            entry->d_un.d_val = add_string(strings, path);
            free(path);
        }
    }
    if (copy->symbolic || qmpi_elf_tag(image, DT_SYMBOLIC, UINT64_MAX) != UINT64_MAX)
        add_dynamic_entry(&dynamic, DT_SYMBOLIC, 0);
    add_dynamic_entry(&dynamic, DT_NULL, 0);
    return dynamic;
}

static void place_strings(struct dynamic *dynamic, uint64_t address, size_t size)
{
    for (size_t i = 0; i < dynamic->count; i++) {
        if (dynamic->entries[i].d_tag == DT_STRTAB)
            dynamic->entries[i].d_un.d_ptr = address;
        else if (dynamic->entries[i].d_tag == DT_STRSZ)
            dynamic->entries[i].d_un.d_val = size;
    }
}

/* Replaces the names of libraries in the table of needed versions, which also contains them. */
static bool rename_versions(const struct qmpi_elf_file *file, int descriptor,
                            struct strings *strings, const struct qmpi_elf_copy *copy)
{
    const struct qmpi_elf_image *image = &file->image;
    uint64_t left, at = qmpi_elf_file_offset(file, qmpi_elf_tag(image, DT_VERNEED, 0), &left);
    uint64_t count = at ? qmpi_elf_tag(image, DT_VERNEEDNUM, 0) : 0;
    ElfW(Verneed) row;
    for (; count && left >= sizeof row; count--) {
        memcpy(&row, (const char *)file->map + at, sizeof row);
        const char *other = copy->needed(copy->data, qmpi_elf_string(image, row.vn_file));
        const uint64_t next = row.vn_next;
        if (other) {
            row.vn_file = (ElfW(Word))add_string(strings, other);
            if (!write_at(descriptor, (off_t)at, &row, sizeof row))
                return false;
        }
        if (!next || next > left)
            break;
        at += next;
        left -= next;
    }
    return true;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/* The end of a name that qmpi_elf_copy_rename makes: a mark with a number, and digits to the base
 * 33. Seven such digits express each number of 32 bits. */
static const char mark[] = ".qmpi";
enum { DIGITS = 7, BASE = 33, ZERO = 'A' };

char *qmpi_elf_copy_rename(const char *name, int owner)
{
    char *longer = qmpi_format("%s%s%d%.*s", name, mark, owner, DIGITS, "AAAAAAA");
    char *digit = longer + strlen(longer);
    /* Each digit is multiplied by a power of the base in the hash, to which the digits are added.
     * The sum may overflow, as the hash does. */
    uint32_t missing = qmpi_elf_hash(name) - qmpi_elf_hash(longer);
    for (int i = 0; i < DIGITS; i++, missing /= BASE)
        *--digit = (char)(ZERO + missing % BASE);
    return longer;
}

size_t qmpi_elf_copy_renamed_length(const char *name, int owner)
{
    char *end = qmpi_format("%s%d", mark, owner);
    const size_t length = strlen(name), tail = strlen(end) + DIGITS;
    const bool renamed = length > tail && !strncmp(name + length - tail, end, tail - DIGITS);
    free(end);
    return renamed ? length - tail : 0;
}

/* The hash of a name in a DT_HASH table. */
static uint32_t old_hash(const char *name)
{
    uint32_t hash = 0;
    for (; *name; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        hash ^= (hash >> 24) & 0xf0;
        hash &= 0x0fffffff;
    }
    return hash;
}

/* Adapts the DT_HASH table, if there is one, to the new names of symbols. */
static bool write_old_hash(const struct qmpi_elf_file *file, int descriptor,
                           const ElfW(Sym) * symbols, const struct strings *strings)
{
    const struct qmpi_elf_image *image = &file->image;
    uint64_t left;
    const uint64_t at = qmpi_elf_file_offset(file, qmpi_elf_tag(image, DT_HASH, 0), &left);
    uint32_t head[2]; /* the numbers of buckets and of chains, which follow */
    if (!at || left < sizeof head)
        return true;
    memcpy(head, (const char *)file->map + at, sizeof head);
    const uint64_t words = (uint64_t)head[0] + head[1];
    if (!head[0] || words > (left - sizeof head) / sizeof(uint32_t))
        return true;
    uint32_t *buckets = qmpi_allocate(words, sizeof *buckets), *chains = buckets + head[0];
    for (uint32_t i = 1; i < head[1] && i < image->symbol_count; i++) {
        if (ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL)
            continue;
        uint32_t *bucket = &buckets[old_hash(strings->text + symbols[i].st_name) % head[0]];
        chains[i] = *bucket;
        *bucket = i;
    }
    const bool done =
        write_at(descriptor, (off_t)(at + sizeof head), buckets, words * sizeof *buckets);
    free(buckets);
    return done;
}

/*
 * Gives symbols their new names, which keep their place in the DT_GNU_HASH table. A renamed symbol
 * that the copy defines becomes a unique one if it is not: the copies of an owner then use the same
 * definition, although each of them may search in itself first.
 */
static bool rename_symbols(const struct qmpi_elf_file *file, int descriptor,
                           struct strings *strings, const struct qmpi_elf_copy *copy)
{
    const struct qmpi_elf_image *image = &file->image;
    const size_t size = image->symbol_count * sizeof *image->symbols;
    const off_t at = (const char *)image->symbols - (const char *)file->map;
    ElfW(Sym) *symbols = qmpi_allocate(image->symbol_count + 1, sizeof *symbols);
    bool renamed = false, done = true;
    memcpy(symbols, image->symbols, size);
    for (size_t i = 1; i < image->symbol_count; i++) {
        const char *name = qmpi_elf_string(image, symbols[i].st_name);
        if (ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL || !copy->is_private(copy->data, name))
            continue;
        char *longer = qmpi_elf_copy_rename(name, copy->owner);
        symbols[i].st_name = (ElfW(Word))add_string(strings, longer);
        if (symbols[i].st_shndx != SHN_UNDEF)
            symbols[i].st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, ELF64_ST_TYPE(symbols[i].st_info));
        free(longer);
        renamed = true;
    }
    if (renamed)
        done = write_at(descriptor, at, symbols, size) &&
               write_old_hash(file, descriptor, symbols, strings);
    free(symbols);
    return done;
}

/* ---- The segment ----------------------------------------------------------------------------- */

/* The additional segment of the copy (see copy.h), which begins with the program headers. */
struct segment {
    uint64_t offset, address;              /* its beginning, in the file and in memory */
    uint64_t dynamic_at, strings_at, size; /* offsets of two parts in it; its size */
};

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static const ElfW(Phdr) * headers_of(const struct qmpi_elf_file *file, int *count)
{
    const ElfW(Ehdr) *header = file->map;
    *count = header->e_phnum;
    return (const void *)((const char *)file->map + header->e_phoff);
}

static struct segment place_segment(const struct qmpi_elf_file *file, const struct dynamic *dynamic,
                                    const struct strings *strings)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct segment segment = {.offset = round_up(file->size, page)};
    int count;
    const ElfW(Phdr) *headers = headers_of(file, &count);
    for (int i = 0; i < count; i++) {
        const uint64_t end = headers[i].p_vaddr + headers[i].p_memsz;
        if (headers[i].p_type == PT_LOAD && end > segment.address)
            segment.address = end;
    }
    segment.address = round_up(segment.address, page);
    segment.dynamic_at = (uint64_t)(count + 1) * sizeof *headers;
    segment.strings_at = segment.dynamic_at + dynamic->count * sizeof *dynamic->entries;
    segment.size = segment.strings_at + strings->size;
    return segment;
}

static ElfW(Phdr) header_for(uint32_t type, uint32_t flags, const struct segment *segment,
                             uint64_t at, uint64_t size, uint64_t align)
{
    return (ElfW(Phdr)){.p_type = type,
                        .p_flags = flags,
                        .p_offset = segment->offset + at,
                        .p_vaddr = segment->address + at,
                        .p_paddr = segment->address + at,
                        .p_filesz = size,
                        .p_memsz = size,
                        .p_align = align};
}

/* Returns the program headers of the copy, which the caller frees. The new segment comes after the
 * other PT_LOAD segments, because the loader requires ascending addresses; PT_DYNAMIC and PT_PHDR
 * lead to it. */
static ElfW(Phdr) * make_headers(const struct qmpi_elf_file *file, const struct segment *segment)
{
    int count, last = -1, made = 0;
    const ElfW(Phdr) *headers = headers_of(file, &count);
    ElfW(Phdr) *others = qmpi_allocate((size_t)count + 1, sizeof *others);
    for (int i = 0; i < count; i++)
        last = headers[i].p_type == PT_LOAD ? i : last;
    for (int i = 0; i < count; i++) {
        others[made] = headers[i];
        if (headers[i].p_type == PT_DYNAMIC)
            others[made] = header_for(PT_DYNAMIC, PF_R | PF_W, segment, segment->dynamic_at,
                                      segment->strings_at - segment->dynamic_at, sizeof(uint64_t));
        else if (headers[i].p_type == PT_PHDR)
            others[made] =
                header_for(PT_PHDR, PF_R, segment, 0, segment->dynamic_at, sizeof(uint64_t));
        made++;
        if (i == last)
            others[made++] = header_for(PT_LOAD, PF_R | PF_W, segment, 0, segment->size,
                                        (uint64_t)sysconf(_SC_PAGESIZE));
    }
    return others;
}

/* Lets the section headers of the parts that have moved agree with the dynamic section, because
 * debuggers compare them. */
static bool write_sections(const struct qmpi_elf_file *file, int descriptor,
                           const struct segment *segment)
{
    const ElfW(Ehdr) *header = file->map;
    const uint64_t strings_before = qmpi_elf_tag(&file->image, DT_STRTAB, 0);
    bool done = true;
    if (header->e_shentsize != sizeof(ElfW(Shdr)))
        return true;
    for (int i = 0; header->e_shoff && i < header->e_shnum && done; i++) {
        const uint64_t at = header->e_shoff + (uint64_t)i * sizeof(ElfW(Shdr));
        ElfW(Shdr) section;
        memcpy(&section, (const char *)file->map + at, sizeof section);
        const bool strings = section.sh_type == SHT_STRTAB && section.sh_addr == strings_before;
        if (section.sh_type != SHT_DYNAMIC && !strings)
            continue;
        const uint64_t begin = strings ? segment->strings_at : segment->dynamic_at;
        const uint64_t end = strings ? segment->size : segment->strings_at;
        section.sh_addr = segment->address + begin;
        section.sh_offset = segment->offset + begin;
        section.sh_size = end - begin;
        done = write_at(descriptor, (off_t)at, &section, sizeof section);
    }
    return done;
}

static bool write_segment(const struct qmpi_elf_file *file, int descriptor, struct dynamic *dynamic,
                          const struct strings *strings)
{
    const struct segment segment = place_segment(file, dynamic, strings);
    ElfW(Phdr) *headers = make_headers(file, &segment);
    ElfW(Ehdr) header = *(const ElfW(Ehdr) *)file->map;
    header.e_phoff = segment.offset;
    header.e_phnum++;
    place_strings(dynamic, segment.address + segment.strings_at, strings->size);
    const off_t at = (off_t)segment.offset;
    const bool done =
        write_at(descriptor, 0, &header, sizeof header) &&
        write_at(descriptor, at, headers, segment.dynamic_at) &&
        write_at(descriptor, at + (off_t)segment.dynamic_at, dynamic->entries,
                 segment.strings_at - segment.dynamic_at) &&
        write_at(descriptor, at + (off_t)segment.strings_at, strings->text, strings->size) &&
        write_sections(file, descriptor, &segment);
    free(headers);
    return done;
}

const char *qmpi_elf_copy_write(const struct qmpi_elf_file *file, int descriptor,
                                const struct qmpi_elf_copy *copy)
{
    const struct qmpi_elf_image *image = &file->image;
    struct strings strings = {.text = NULL};
    add_bytes(&strings, image->strings, image->string_size);
    struct dynamic dynamic = make_dynamic(image, &strings, copy);
    const bool done = write_at(descriptor, 0, file->map, file->size) &&
                      rename_versions(file, descriptor, &strings, copy) &&
                      rename_symbols(file, descriptor, &strings, copy) &&
                      write_segment(file, descriptor, &dynamic, &strings);
    free(dynamic.entries);
    free(strings.text);
    return done ? NULL : strerror(errno);
}

/* ---- Copies in the process ------------------------------------------------------------------- */

struct copy_record {
    char *path, *original;
    char *soname; /* of the original; NULL: none */
    dev_t device; /* of the original */
    ino_t file;
    struct copy_record *next;
};

/* One thread at a time adds records (under the lock of qmpi_copies_make), and none is removed. The
 * head is stored with release order, after the record is complete, and loaded with acquire order by
 * any thread. */
static struct copy_record *copies;

void qmpi_elf_copy_record(const char *path, const char *original, const struct stat *status,
                          const char *soname)
{
    struct copy_record *record = qmpi_allocate(1, sizeof *record);
    *record = (struct copy_record){.path = qmpi_copy(path),
                                   .original = qmpi_copy(original),
                                   .soname = soname ? qmpi_copy(soname) : NULL,
                                   .device = status->st_dev,
                                   .file = status->st_ino,
                                   .next = copies};
    __atomic_store_n(&copies, record, __ATOMIC_RELEASE);
}

static const struct copy_record *find_record(const char *path)
{
    const struct copy_record *record = __atomic_load_n(&copies, __ATOMIC_ACQUIRE);
    while (record && strcmp(record->path, path) != 0)
        record = record->next;
    return record;
}

const char *qmpi_elf_copy_original(const char *path)
{
    const struct copy_record *record = find_record(path);
    return record ? record->original : path;
}

bool qmpi_elf_copy_is_of(const char *path, const char *name)
{
    struct stat status;
    const struct copy_record *record = find_record(path);
    if (!record)
        return false;
    if (!strchr(name, '/'))
        return !strcmp(name, qmpi_text_base_name(record->original)) ||
               (record->soname && !strcmp(name, record->soname));
    return !strcmp(name, record->path) ||
           (stat(name, &status) == 0 && status.st_dev == record->device &&
            status.st_ino == record->file);
}
