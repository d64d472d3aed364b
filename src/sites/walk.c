/* SPDX-License-Identifier: MIT */
/* See walk.h. */
#define _GNU_SOURCE
#include "sites/walk.h"

#include "dispatch/dispatch.h"
#include "sites/arch/signal_frame.h"
#include "sites/closing.h"
#include "sites/frame_rule.h"
#include "util/util.h"

#include <stdatomic.h>
#include <string.h>

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Never freed, because a thread may be using it; reused for a stack that is mapped there later. */
struct range {
    struct qmpi_stack stack;
    struct range *next;
};
static _Atomic(struct range *) ranges; /* only added to */

/* That of the last walk. */
static _Thread_local const struct range *current __attribute__((tls_model("initial-exec")));

static bool holds(const struct range *range, uintptr_t address)
{
    return range && address > range->stack.begin && address <= range->stack.end;
}

static const struct range *find_range(uintptr_t address)
{
    struct range *range = atomic_load(&ranges);
    while (range && !holds(range, address))
        range = range->next;
    if (range)
        return range;
    const struct qmpi_stack stack = qmpi_stack_find(address - 1);
    if (!stack.end || !(range = qmpi_arena_take(sizeof *range)))
        return NULL;
    range->stack = stack;
    range->next = atomic_load(&ranges);
    while (!atomic_compare_exchange_weak(&ranges, &range->next, range))
        continue;
    return range;
}

/* ---- What is remembered ---------------------------------------------------------------------- */

/*
 * A table with one word for each return address, so that it is read and written as a whole, by any
 * thread and in signal handlers. Another address that belongs in the same place replaces it.
 *
 *     bits 63-30  the address, without the bits that follow from the place
 *     bits 29-11  `offset` of the rule, in words; negative for QMPI_FRAME_SAVED
 *     bits 10-5   `fp` of the rule
 *     bits 4-3    the code
 *     bits 2-0    `base` of the rule
 */
enum {
    PLACE_BITS = 13,
    ADDRESS_BITS = 47,
    ADDRESS_SHIFT = 30,
    OFFSET_SHIFT = 11,
    OFFSET_MAX = (1 << 19) - 1,
    FP_SHIFT = 5,
    FP_MAX = (1 << 6) - 1, /* stands for QMPI_FP_AT_FP */
    CODE_SHIFT = 3,
    RULE_KIND = (1 << FP_SHIFT) - 1, /* the code and `base` */
    WORD = sizeof(uintptr_t)
};
_Static_assert(ADDRESS_SHIFT + ADDRESS_BITS - PLACE_BITS == 64, "an address does not fit");

#define KIND_OF(base, code) ((unsigned)(code) << CODE_SHIFT | (unsigned)(base))

static _Atomic uint64_t table[1 << PLACE_BITS];
static atomic_bool is_used; /* since it was cleared */

static inline _Atomic uint64_t *place_of(uintptr_t address)
{
    return &table[(address ^ address >> PLACE_BITS) & ((1 << PLACE_BITS) - 1)];
}

/* One that does not fit is unknown. */
static uint64_t pack(uintptr_t address, const struct qmpi_frame_rule *rule, enum qmpi_code code)
{
    const int64_t offset = rule->base == QMPI_FRAME_SAVED ? -rule->offset : rule->offset;
    const int64_t fp = rule->fp == QMPI_FP_AT_FP ? FP_MAX : rule->fp;
    const bool goes_up = offset > 0 || rule->base != QMPI_FRAME_SP;
    const bool fits = offset % WORD == 0 && offset >= 0 && offset / WORD <= OFFSET_MAX && goes_up &&
                      (fp < FP_MAX || rule->fp == QMPI_FP_AT_FP);
    const uint64_t word = (uint64_t)(address >> PLACE_BITS) << ADDRESS_SHIFT | (uint64_t)code
                                                                                   << CODE_SHIFT;
    return fits ? word | (uint64_t)(offset / WORD) << OFFSET_SHIFT | (uint64_t)fp << FP_SHIFT |
                      (uint64_t)rule->base
                : word | QMPI_FRAME_UNKNOWN;
}

/* What a thread stores meanwhile is of a library that remains. */
void qmpi_walk_forget(void)
{
    if (!atomic_exchange(&is_used, false))
        return;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (atomic_load_explicit(&table[i], memory_order_relaxed))
            atomic_store_explicit(&table[i], 0, memory_order_relaxed);
    }
}

/* As the address is on the stack, its library is not being closed: what is stored is right. */
static __attribute__((noinline)) uint64_t learn(uintptr_t address)
{
    bool is_permanent;
    const enum qmpi_code code = qmpi_code_find(address, &is_permanent);
    const struct qmpi_frame_rule rule = qmpi_frame_rule_find(address);
    const uint64_t word = pack(address, &rule, code);
    if (is_permanent && !qmpi_closing() && !(address >> ADDRESS_BITS)) {
        atomic_store(place_of(address), word);
        atomic_store(&is_used, true);
    }
    return word;
}

static inline uint64_t look_up(uintptr_t address)
{
    const uint64_t word = atomic_load_explicit(place_of(address), memory_order_relaxed);
    const bool known = word >> ADDRESS_SHIFT == address >> PLACE_BITS && !qmpi_closing();
    return __builtin_expect(known, 1) ? word : learn(address);
}

static inline enum qmpi_code code_of(uint64_t word)
{
    return (enum qmpi_code)(word >> CODE_SHIFT & 3);
}

enum qmpi_code qmpi_walk_code(uintptr_t address)
{
    return code_of(look_up(address));
}

/* ---- Walking --------------------------------------------------------------------------------- */

/* Where a walk is. */
struct position {
    uintptr_t address;         /* return address */
    uintptr_t cfa;             /* the stack pointer there */
    const uintptr_t *fp_place; /* where the frame pointer of that time is; NULL: not known */
    uintptr_t begin;           /* `cfa` at the beginning */
    uintptr_t end;             /* of the stack */
    bool ends;                 /* this is the outermost frame */
    bool was_interrupted;      /* `address` is one behind the next instruction */
};

static inline const uintptr_t *at(uintptr_t address)
{
    return (const uintptr_t *)address;
}

/* Whether a word is in the part of the stack that the walk has yet to pass. */
static inline bool is_ahead(const struct position *position, uintptr_t address)
{
    return address % WORD == 0 && address >= position->cfa && address < position->end;
}

static bool find_fp(const struct position *position, uintptr_t *fp);

/* Where the next frame begins, if not at a distance from the stack pointer; 0: not known. */
static __attribute__((noinline)) uintptr_t find_cfa(struct position *position, uint64_t word,
                                                    uintptr_t *first_fp)
{
    const uintptr_t offset = (word >> OFFSET_SHIFT & OFFSET_MAX) * WORD;
    const unsigned base = word & 7;
    position->ends = base == QMPI_FRAME_END;
    if (base <= QMPI_FRAME_END)
        return 0;
    if (!position->fp_place) {
        if (!find_fp(position, first_fp))
            return 0;
        position->fp_place = first_fp;
    }
    const uintptr_t fp = *position->fp_place;
    uintptr_t cfa = base == QMPI_FRAME_SP ? position->cfa + offset : fp + offset;
    if (base == QMPI_FRAME_SAVED) {
        if (!is_ahead(position, fp - offset))
            return 0;
        cfa = *at(fp - offset);
    }
    if ((word >> FP_SHIFT & FP_MAX) == FP_MAX) {
        if (!is_ahead(position, fp))
            return 0;
        position->fp_place = at(fp);
    }
    return is_ahead(position, cfa - WORD) ? cfa : 0;
}

/* Goes to the next frame, by what is known of the present one. */
static inline __attribute__((always_inline)) bool advance(struct position *position, uint64_t word,
                                                          uintptr_t *first_fp)
{
    const uintptr_t saved = word >> FP_SHIFT & FP_MAX;
    uintptr_t cfa = position->cfa + (word >> OFFSET_SHIFT & OFFSET_MAX) * WORD;
    if (__builtin_expect((word & 7) != QMPI_FRAME_SP || saved == FP_MAX, 0)) {
        struct position here = *position;
        cfa = find_cfa(&here, word, first_fp);
        *position = here;
    }
    if (__builtin_expect(cfa <= position->cfa || cfa > position->end, 0))
        return false;
    if (saved && saved != FP_MAX) {
        const uintptr_t place = cfa - saved * WORD;
        if (__builtin_expect(place < position->cfa, 0))
            return false;
        position->fp_place = at(place);
    }
    position->address = *at(cfa - WORD);
    position->cfa = cfa;
    return true;
}

/*
 * The functions between the beginning of the walk and this one may have saved the frame pointer. No
 * frame from the beginning to here has it, so it is the same there and here.
 */
static __attribute__((noinline)) bool find_fp(const struct position *position, uintptr_t *fp)
{
    const uintptr_t *const frame = __builtin_frame_address(0); /* saved, return address */
    struct position inner = {.address = frame[1],
                             .cfa = (uintptr_t)(frame + 2),
                             .fp_place = frame,
                             .end = position->end};
    while (inner.cfa < position->begin) {
        if (!advance(&inner, look_up(inner.address), NULL))
            return false;
    }
    *fp = *inner.fp_place;
    return inner.cfa == position->begin;
}

static bool use_range(struct position *position)
{
    if (__builtin_expect(!holds(current, position->cfa), 0))
        current = find_range(position->cfa);
    position->end = current ? current->stack.end : 0;
    return current != NULL;
}

/*
 * Goes to the code that a signal interrupted, perhaps on another stack. Between two instructions,
 * the rules of compilers are not always right. What they lead to then is not code with a rule, and
 * ends the walk; an unwinder may read what it takes for code there.
 */
static __attribute__((noinline)) bool cross_signal(struct position *position)
{
    const uintptr_t frame = position->cfa;
    if (position->end - frame < sizeof(qmpi_signal_frame))
        return false;
    const struct qmpi_interrupted interrupted =
        qmpi_signal_registers((const qmpi_signal_frame *)frame);
    *position = (struct position){.address = interrupted.address + 1, /* it was not called */
                                  .cfa = interrupted.sp,
                                  .begin = interrupted.sp,
                                  .fp_place = interrupted.fp_place,
                                  .was_interrupted = true};
    return use_range(position);
}

/*
 * The same as walk_any where each frame begins at a distance from the stack pointer and is the
 * program's or that of what calls `main`: most programs' frames, without debugging. False: one is
 * another one, or is not remembered.
 */
static inline bool walk_usual(struct qmpi_callers *callers, uintptr_t cfa, uintptr_t end)
{
    void **const all = callers->all;
    const int capacity = callers->capacity;
    int count = 0;
    callers->count = 0;
    if (__builtin_expect(qmpi_closing(), 0))
        return false;
    while (cfa <= end) {
        const uintptr_t address = *at(cfa - WORD);
        const uint64_t word = atomic_load_explicit(place_of(address), memory_order_relaxed);
        if (__builtin_expect(word >> ADDRESS_SHIFT != address >> PLACE_BITS, 0))
            return false;
        const unsigned kind = word & RULE_KIND;
        if (kind == KIND_OF(QMPI_FRAME_SP, QMPI_CODE_PROGRAM)) {
            if (count < capacity)
                all[count++] = (void *)address;
            callers->count = count;
            if (count == capacity)
                return true;
        } else if (kind == KIND_OF(QMPI_FRAME_SP, QMPI_CODE_START)) {
            if (count < capacity)
                all[count++] = (void *)address;
        } else {
            return kind == KIND_OF(QMPI_FRAME_END, QMPI_CODE_START);
        }
        cfa += (word >> OFFSET_SHIFT & OFFSET_MAX) * WORD;
    }
    return false;
}

static __attribute__((noinline)) bool walk_any(struct qmpi_callers *callers, const void *frame)
{
    struct qmpi_callers found = {.all = callers->all, .capacity = callers->capacity};
    struct position position = {.cfa = (uintptr_t)frame, .begin = (uintptr_t)frame};
    uintptr_t first_fp;
    bool in_interrupted = false;
    use_range(&position);
    position.address = (uintptr_t)qmpi_frame_return_address(frame);
    bool more = true;
    while (position.address) { /* NULL: of a coroutine, whose first function nobody called */
        const uint64_t word = look_up(position.address);
        more = qmpi_callers_add(&found, position.address - position.was_interrupted, code_of(word));
        if (!more)
            break;
        position.was_interrupted = false;
        if (__builtin_expect(advance(&position, word, &first_fp), 1))
            continue;
        if ((word & 7) == QMPI_FRAME_SIGNAL && cross_signal(&position))
            in_interrupted = true;
        else if (position.ends || in_interrupted)
            break;
        else
            return false;
    }
    if (more)
        qmpi_callers_end(&found);
    *callers = found;
    return true;
}

bool qmpi_walk_up(struct qmpi_callers *callers, const void *frame)
{
    const uintptr_t cfa = (uintptr_t)frame;
    const struct range *const range = current;
    return (__builtin_expect(holds(range, cfa), 1) &&
            __builtin_expect(walk_usual(callers, cfa, range->stack.end), 1)) ||
           walk_any(callers, frame);
}
