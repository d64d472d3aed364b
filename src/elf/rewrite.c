/* SPDX-License-Identifier: MIT */
/* See rewrite.h. */
#define _GNU_SOURCE
#include "elf/rewrite.h"

#include "util/util.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Pages ----------------------------------------------------------------------------------- */

/*
 * Whether memory can be written now. FUTEX_WAKE_OP atomically adds 0 to the word, or returns an
 * error, so other threads may read and write the word meanwhile; no thread waits on it. Reading
 * /proc/self/maps would take time for each mapping of the process.
 */
static bool is_writable(const void *place)
{
    uint32_t waiters = 0;
    uint32_t *word = (uint32_t *)((uintptr_t)place & ~(uintptr_t)(sizeof *word - 1));
    return syscall(SYS_futex, &waiters, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL, word,
                   FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0)) >= 0;
}

bool qmpi_elf_pages_open(struct qmpi_elf_pages *pages, const void *place)
{
    if (!pages->page_size)
        pages->page_size = (size_t)sysconf(_SC_PAGESIZE);
    const size_t size = pages->page_size;
    char *page = (char *)((uintptr_t)place & ~(size - 1));
    if (page == pages->writable)
        return true;
    struct qmpi_elf_range *last = pages->count ? &pages->opened[pages->count - 1] : NULL;
    if (!is_writable(place)) {
        const bool adjoins = last && last->start + last->size == page;
        if (!adjoins) /* before the page is made writable, because memory may be exhausted */
            pages->opened = qmpi_memory_grow(pages->opened, pages->count, sizeof *pages->opened);
        if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
            return false;
        if (adjoins) {
            last->size += size;
        } else {
            pages->opened[pages->count++] = (struct qmpi_elf_range){page, size};
        }
    }
    pages->writable = page;
    return true;
}

void qmpi_elf_pages_close(struct qmpi_elf_pages *pages)
{
    for (int i = 0; i < pages->count; i++)
        mprotect(pages->opened[i].start, pages->opened[i].size, PROT_READ);
    free(pages->opened);
    *pages = (struct qmpi_elf_pages){.opened = NULL};
}

/* ---- Relocations that refer to symbols ------------------------------------------------------- */

static void visit_table(const struct qmpi_elf_loaded *object, int64_t address_tag, int64_t size_tag,
                        qmpi_elf_visit *visit, void *data)
{
    const struct qmpi_elf_image *image = &object->image;
    const uint64_t address = qmpi_elf_tag(image, address_tag, 0);
    const uint64_t size = qmpi_elf_tag(image, size_tag, 0);
    const ElfW(Rela) *table = qmpi_elf_loaded_pointer(object, address);
    /* Relative relocations come first, and refer to no symbol. */
    const size_t first = address_tag == DT_RELA ? qmpi_elf_tag(image, DT_RELACOUNT, 0) : 0;
    for (size_t i = first; address && i < size / sizeof *table; i++) {
        const enum qmpi_elf_reference reference = qmpi_elf_reference_of(&table[i]);
        const size_t index = ELF64_R_SYM(table[i].r_info);
        if (reference == QMPI_ELF_REFERENCE_NONE || index == 0)
            continue;
        const struct qmpi_elf_relocation relocation = {
            .name = qmpi_elf_string(image, image->symbols[index].st_name),
            .reference = reference,
            .place = (char **)(object->base + table[i].r_offset),
            .addend = reference == QMPI_ELF_REFERENCE_DATA ? table[i].r_addend : 0,
        };
        visit(data, &relocation);
    }
}

/* Whether the relocations are of the type with explicit addends, as on all supported processors. */
static bool has_addends(const struct qmpi_elf_image *image)
{
    return qmpi_elf_tag(image, DT_PLTREL, DT_RELA) == DT_RELA && !qmpi_elf_tag(image, DT_REL, 0);
}

void qmpi_elf_visit_relocations(const struct qmpi_elf_loaded *object, qmpi_elf_visit *visit,
                                void *data)
{
    if (!has_addends(&object->image))
        return;
    visit_table(object, DT_JMPREL, DT_PLTRELSZ, visit, data);
    visit_table(object, DT_RELA, DT_RELASZ, visit, data);
}

struct refers_search {
    qmpi_elf_target *target;
    void *data;
    bool found;
};

static void check_reference(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct refers_search *search = data;
    search->found =
        search->found || search->target(search->data, relocation->name, relocation->reference);
}

bool qmpi_elf_refers(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data)
{
    struct refers_search search = {target, data, false};
    qmpi_elf_visit_relocations(object, check_reference, &search);
    return search.found;
}

struct rewriting {
    qmpi_elf_target *target;
    void *data;
    /* Adjacent pages that have been made writable. They are made read-only again before others are
     * made writable, so that no list of pages must be allocated. */
    char *start, *writable; /* `writable`: the last page that was found or made writable */
    size_t size;
    int error;
};

static void close_pages(struct rewriting *rewriting)
{
    if (rewriting->size)
        mprotect(rewriting->start, rewriting->size, PROT_READ);
    rewriting->size = 0;
}

static bool open_page(struct rewriting *rewriting, const void *place)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = (char *)((uintptr_t)place & ~(size - 1));
    if (page == rewriting->writable)
        return true;
    if (!is_writable(place)) {
        if (rewriting->start + rewriting->size != page)
            close_pages(rewriting);
        if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
            return false;
        if (!rewriting->size)
            rewriting->start = page;
        rewriting->size += size;
    }
    rewriting->writable = page;
    return true;
}

static void rewrite_relocation(void *data, const struct qmpi_elf_relocation *relocation)
{
    struct rewriting *rewriting = data;
    char *target_address =
        rewriting->target(rewriting->data, relocation->name, relocation->reference);
    char **const place = relocation->place, *now;
    if (!target_address)
        return;
    target_address += relocation->addend;
    memcpy(&now, place, sizeof now); /* a pointer in data may be unaligned */
    if (now == target_address)
        return;
    const bool aligned = (uintptr_t)place % sizeof *place == 0;
    if (!open_page(rewriting, place) ||
        (!aligned && !open_page(rewriting, (char *)(place + 1) - 1)))
        rewriting->error = errno;
    else if (!aligned)
        memcpy(place, &target_address, sizeof target_address);
    else /* other threads call through it meanwhile */
        __atomic_store_n(place, target_address, __ATOMIC_RELEASE);
}

char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data)
{
    const struct qmpi_elf_image *image = &object->image;
    if (!has_addends(image))
        return qmpi_message("%s has relocations of a type that this processor does not use",
                            object->name);
    if (qmpi_elf_tag(image, DT_TEXTREL, 0) || (qmpi_elf_tag(image, DT_FLAGS, 0) & DF_TEXTREL))
        return qmpi_message("%s has relocations in its code\nhint: build it with -fPIC",
                            object->name);
    struct rewriting rewriting = {.target = target, .data = data};
    qmpi_elf_visit_relocations(object, rewrite_relocation, &rewriting);
    close_pages(&rewriting);
    return rewriting.error ? qmpi_message("cannot change the relocations of %s: %s", object->name,
                                          strerror(rewriting.error))
                           : NULL;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/* Returns the protection of the segment that contains an address; 0: in no segment. */
static int segment_protection(const struct qmpi_elf_loaded *object, const void *address)
{
    for (int i = 0; i < object->segment_count; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type != PT_LOAD ||
            (ElfW(Addr))address - object->base - segment->p_vaddr >= segment->p_memsz)
            continue;
        return (segment->p_flags & PF_R ? PROT_READ : 0) |
               (segment->p_flags & PF_W ? PROT_WRITE : 0) |
               (segment->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return 0;
}

/*
 * Returns the new value of a symbol, or the current one if it does not change. The value is an
 * offset from the base of the object, even if the function is in another object: the loader adds
 * base and value without checking the result.
 */
static ElfW(Addr) symbol_value(const struct qmpi_elf_loaded *object, const ElfW(Sym) * symbol,
                               qmpi_elf_definition *definition)
{
    const void *target = qmpi_elf_defines(symbol)
                             ? definition(qmpi_elf_string(&object->image, symbol->st_name))
                             : NULL;
    return target ? (ElfW(Addr))target - object->base : symbol->st_value;
}

char *qmpi_elf_redefine(const struct qmpi_elf_loaded *object, qmpi_elf_definition *definition)
{
    const ElfW(Sym) *symbols = object->image.symbols;
    size_t first = 0, end = qmpi_elf_symbol_count(&object->image);
    while (first < end &&
           symbol_value(object, &symbols[first], definition) == symbols[first].st_value)
        first++;
    while (first < end &&
           symbol_value(object, &symbols[end - 1], definition) == symbols[end - 1].st_value)
        end--;
    if (first == end)
        return NULL;
    /* The pages become writable in addition to their present protection, because other threads may
     * execute code in them. */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)&symbols[first] & ~(page - 1);
    const size_t size = (uintptr_t)&symbols[end] - start;
    const int before = segment_protection(object, symbols);
    if (mprotect((void *)start, size, before | PROT_WRITE) != 0)
        return qmpi_message("cannot change the symbols of %s: %s", object->name, strerror(errno));
    for (size_t i = first; i < end; i++) {
        const ElfW(Addr) value = symbol_value(object, &symbols[i], definition);
        if (value != symbols[i].st_value) /* the loader may read it in another thread */
            __atomic_store_n((ElfW(Addr) *)(uintptr_t)&symbols[i].st_value, value,
                             __ATOMIC_RELEASE);
    }
    mprotect((void *)start, size, before);
    return NULL;
}
