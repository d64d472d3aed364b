/* SPDX-License-Identifier: MIT */
/*
 * The callers of an MPI call: the return addresses from the frame of the trampoline up the stack.
 * The rules that lead from frame to frame (frame_rule.h) are stored for each return address, so
 * that a step is as fast as a look-up in a table.
 */
#define _GNU_SOURCE
#include "dispatch/dispatch.h"
#include "redirect/redirect.h"
#include "sites/arch/registers.h"
#include "sites/frame_rule.h"
#include "sites/modules.h"
#include "sites/sites.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <stdatomic.h>
#include <string.h>

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* A stack on which a thread runs. It is never freed, because a thread may be using it, but reused
 * for a stack that is mapped at the same place later. */
struct stack_range {
    struct qmpi_call_stack stack;
    struct stack_range *next;
};
static _Atomic(struct stack_range *) ranges; /* only added to */

/* The stack of this thread's last walk. */
static _Thread_local const struct stack_range *current __attribute__((tls_model("initial-exec")));

static bool holds_address(const struct stack_range *range, uintptr_t address)
{
    return range && address > range->stack.begin && address <= range->stack.end;
}

static const struct stack_range *find_stack_range(uintptr_t address)
{
    struct stack_range *range = atomic_load(&ranges);
    while (range && !holds_address(range, address))
        range = range->next;
    if (range)
        return range;
    const struct qmpi_call_stack stack = qmpi_call_stack_find(address - 1);
    if (!stack.end || !(range = qmpi_memory_take(sizeof *range)))
        return NULL;
    range->stack = stack;
    range->next = atomic_load(&ranges);
    while (!atomic_compare_exchange_weak(&ranges, &range->next, range))
        continue;
    return range;
}

/* ---- Stored rules ---------------------------------------------------------------------------- */

/*
 * A table with one word for each return address, so that any thread and signal handlers read and
 * write it as a whole. Another address with the same place replaces it. A rule is valid for each
 * call that returns to its address, whatever other frames are on the stack.
 *
 *     bits 63-30  the address, without the bits that the place determines
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
    FP_MAX = (1 << 6) - 1, /* represents QMPI_FP_AT_FP */
    CODE_SHIFT = 3,
    RULE_KIND = (1 << FP_SHIFT) - 1, /* the code and `base` */
    WORD = sizeof(uintptr_t)
};
_Static_assert(ADDRESS_SHIFT + ADDRESS_BITS - PLACE_BITS == 64, "an address does not fit");

#define KIND_OF(base, code) ((unsigned)(code) << CODE_SHIFT | (unsigned)(base))

static _Atomic uint64_t table[1 << PLACE_BITS];
static atomic_bool is_used; /* whether a rule was stored since the table was cleared */

static inline _Atomic uint64_t *place_of(uintptr_t address)
{
    return &table[(address ^ address >> PLACE_BITS) & ((1 << PLACE_BITS) - 1)];
}

/* Packs a rule into a word. A rule with too large numbers is stored as unknown. */
static uint64_t pack_rule(uintptr_t address, const struct qmpi_frame_rule *rule,
                          enum qmpi_module_code code)
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

/* Clears the table. Rules that another thread stores meanwhile may stay, because their library
 * stays open. */
void qmpi_sites_forget_rules(void)
{
    if (!atomic_exchange(&is_used, false))
        return;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (atomic_load_explicit(&table[i], memory_order_relaxed))
            atomic_store_explicit(&table[i], 0, memory_order_relaxed);
    }
}

/* Finds the rule for an address on the stack. Its library is in use, so it cannot be closed
 * meanwhile. */
static __attribute__((noinline)) uint64_t learn_rule(uintptr_t address)
{
    bool is_permanent;
    const enum qmpi_module_code code = qmpi_module_find_code(address, &is_permanent);
    const struct qmpi_frame_rule rule = qmpi_frame_rule_find(address);
    const uint64_t word = pack_rule(address, &rule, code);
    if (is_permanent && !qmpi_module_is_closing() && !(address >> ADDRESS_BITS)) {
        atomic_store(place_of(address), word);
        atomic_store(&is_used, true);
    }
    return word;
}

static inline uint64_t look_up_rule(uintptr_t address)
{
    const uint64_t word = atomic_load_explicit(place_of(address), memory_order_relaxed);
    const bool known = word >> ADDRESS_SHIFT == address >> PLACE_BITS && !qmpi_module_is_closing();
    return __builtin_expect(known, 1) ? word : learn_rule(address);
}

static inline enum qmpi_module_code code_of(uint64_t word)
{
    return (enum qmpi_module_code)(word >> CODE_SHIFT & 3);
}

/* Returns the kind of code at a return address. */
static enum qmpi_module_code code_at(uintptr_t address)
{
    return code_of(look_up_rule(address));
}

/* ---- Callers --------------------------------------------------------------------------------- */

/* The callers, as QMPIX_Call_get_callers returns them. */
struct callers {
    void **all;
    int capacity, count;
    int start_count; /* number of addresses at the end of the list that may be in the code that
                        calls `main` */
};

/* Adds an address, innermost first. Returns whether more are needed. Addresses in the code that
 * calls `main` are left out if they are the last ones of the stack. */
static inline bool add_caller(struct callers *callers, uintptr_t address,
                              enum qmpi_module_code code)
{
    if (code == QMPI_CODE_BETWEEN || (code == QMPI_CODE_LAYER && callers->count))
        return true;
    if (callers->count == callers->capacity)
        return code == QMPI_CODE_START;
    callers->all[callers->count++] = (void *)address;
    callers->start_count = code == QMPI_CODE_START ? callers->start_count + 1 : 0;
    return callers->count < callers->capacity || callers->start_count;
}

/* Completes the list, because the walk is at the end of the stack. */
static inline void end_callers(struct callers *callers)
{
    callers->count -= callers->start_count;
}

/* ---- Walking --------------------------------------------------------------------------------- */

/* The position of a walk. */
struct position {
    uintptr_t address;         /* return address of this frame */
    uintptr_t cfa;             /* the stack pointer after that return */
    const uintptr_t *fp_place; /* where the frame pointer of this position is stored; NULL:
                                  unknown */
    uintptr_t begin;           /* `cfa` at the beginning of the walk */
    uintptr_t end;             /* end of the stack */
    bool ends;                 /* this is the outermost frame */
    int signals;               /* number of signal frames crossed */
    bool was_interrupted;      /* `address` is 1 more than the next instruction of the interrupted
                                  code */
};

static inline const uintptr_t *stack_word(uintptr_t address)
{
    return (const uintptr_t *)address;
}

/* Whether a word is in the part of the stack that the walk has not passed yet. */
static inline bool is_ahead(const struct position *position, uintptr_t address)
{
    return address % WORD == 0 && address >= position->cfa && address < position->end;
}

static bool find_fp(const struct position *position, uintptr_t *fp);

/* Returns the beginning of the next frame if it is not at a fixed distance from the stack pointer;
 * 0: unknown. */
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
        cfa = *stack_word(fp - offset);
    }
    if ((word >> FP_SHIFT & FP_MAX) == FP_MAX) {
        if (!is_ahead(position, fp))
            return 0;
        position->fp_place = stack_word(fp);
    }
    return is_ahead(position, cfa - WORD) ? cfa : 0;
}

/* Goes to the next frame, by the rule for this one. */
static inline __attribute__((always_inline)) bool advance_frame(struct position *position,
                                                                uint64_t word, uintptr_t *first_fp)
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
        position->fp_place = stack_word(place);
    }
    position->address = *stack_word(cfa - WORD);
    position->cfa = cfa;
    return true;
}

/*
 * Finds the frame pointer at the beginning of the walk. Functions between that place and this
 * function may have saved it. No frame from the beginning to `position` has changed it.
 */
static __attribute__((noinline)) bool find_fp(const struct position *position, uintptr_t *fp)
{
    const uintptr_t *const frame = __builtin_frame_address(0); /* points to the saved frame pointer
                                                                  and the return address */
    struct position inner = {.address = frame[1],
                             .cfa = (uintptr_t)(frame + 2),
                             .fp_place = frame,
                             .end = position->end};
    while (inner.cfa < position->begin) {
        if (!advance_frame(&inner, look_up_rule(inner.address), NULL))
            return false;
    }
    *fp = *inner.fp_place;
    return inner.cfa == position->begin;
}

static bool use_stack_range(struct position *position)
{
    if (__builtin_expect(!holds_address(current, position->cfa), 0))
        current = find_stack_range(position->cfa);
    position->end = current ? current->stack.end : 0;
    return current != NULL;
}

/*
 * Goes to the code that a signal interrupted, perhaps on another stack. Between two instructions,
 * the rules of compilers may be wrong; such a rule leads to an address without a rule, which ends
 * the walk. With a damaged table, arbitrary words on the stack may look like a signal frame.
 * Therefore, the stack pointer in it must point to a stack, and the number of signal frames is
 * limited.
 */
static __attribute__((noinline)) bool cross_signal(struct position *position)
{
    enum { SIGNALS_MAX = 64 };
    const uintptr_t frame = position->cfa;
    if (position->end < frame || position->end - frame < sizeof(qmpi_registers_frame) ||
        position->signals == SIGNALS_MAX)
        return false;
    const struct qmpi_registers interrupted =
        qmpi_registers_read((const qmpi_registers_frame *)frame);
    const bool same = interrupted.sp >= frame && interrupted.sp < position->end;
    *position = (struct position){.address = interrupted.address + 1, /* it is not a return
                                                                         address */
                                  .cfa = interrupted.sp,
                                  .begin = interrupted.sp,
                                  .fp_place = interrupted.fp_place,
                                  .signals = position->signals + 1,
                                  .was_interrupted = true};
    return interrupted.sp % WORD == 0 && (same || qmpi_call_stack_may_contain(interrupted.sp)) &&
           use_stack_range(position);
}

/*
 * Like walk_any, for stacks in which each frame begins at a distance from the stack pointer and
 * belongs to the program or to the code that calls `main`. This is the case in most programs that
 * are compiled without debugging. Returns false if a frame is another one, or its rule is not
 * stored.
 */
static inline bool walk_usual(struct callers *callers, uintptr_t cfa, uintptr_t end)
{
    void **const all = callers->all;
    const int capacity = callers->capacity;
    int count = 0;
    callers->count = 0;
    if (__builtin_expect(qmpi_module_is_closing(), 0))
        return false;
    while (cfa <= end) {
        const uintptr_t address = *stack_word(cfa - WORD);
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

static __attribute__((noinline)) bool walk_any(struct callers *callers, const void *frame)
{
    struct callers found = {.all = callers->all, .capacity = callers->capacity};
    struct position position = {.cfa = (uintptr_t)frame, .begin = (uintptr_t)frame};
    uintptr_t first_fp;
    if (!use_stack_range(&position))
        return false;
    position.address = (uintptr_t)qmpi_frame_return_address(frame);
    bool more = true;
    while (position.address) { /* 0: the first function of a coroutine, which has no caller */
        const uint64_t word = look_up_rule(position.address);
        more = add_caller(&found, position.address - position.was_interrupted, code_of(word));
        if (!more)
            break;
        position.was_interrupted = false;
        if (__builtin_expect(advance_frame(&position, word, &first_fp), 1))
            continue;
        if ((word & 7) != QMPI_FRAME_SIGNAL || !cross_signal(&position))
            break; /* this is the outermost frame, or no rule leads further */
    }
    if (more)
        end_callers(&found);
    *callers = found;
    return true;
}

/*
 * Adds the return addresses from that of `frame`, which is in use, upwards. Returns false if the
 * part of the stack that matters cannot be walked completely. It can be called in any thread and in
 * signal handlers. It reads only the stack that contains the frame.
 */
static bool walk_up(struct callers *callers, const void *frame)
{
    const uintptr_t cfa = (uintptr_t)frame;
    const struct stack_range *const range = current;
    return (__builtin_expect(holds_address(range, cfa), 1) &&
            __builtin_expect(walk_usual(callers, cfa, range->stack.end), 1)) ||
           walk_any(callers, frame);
}

/* Returns all return addresses, for code that searches for certain frames: see
 * util/call_stack.h. */
static __attribute__((noinline)) int walk_all(void **addresses, int capacity)
{
    const uintptr_t *const frame = __builtin_frame_address(0); /* points to the saved frame pointer
                                                                  and the return address */
    struct position position = {.address = frame[1],
                                .cfa = (uintptr_t)(frame + 2),
                                .fp_place = frame,
                                .begin = (uintptr_t)(frame + 2)};
    int count = 0;
    if (!use_stack_range(&position))
        return -1;
    while (count < capacity && position.address) {
        const uint64_t word = look_up_rule(position.address);
        addresses[count++] = (void *)(position.address - position.was_interrupted);
        position.was_interrupted = false;
        if (!advance_frame(&position, word, NULL) &&
            ((word & 7) != QMPI_FRAME_SIGNAL || !cross_signal(&position)))
            break;
    }
    return count;
}

__attribute__((constructor)) static void use_walk(void)
{
    qmpi_call_stack_use(walk_all);
}

/* ---- The public call ------------------------------------------------------------------------- */

/* The numbers of frames of libraries that may lie between libqmpi and the program's call. */
enum { BETWEEN_USUAL = 24, BETWEEN_MAX = 256 };

/* Adds unwound addresses. Returns false if some of those that matter may be missing. */
static bool add_unwound(struct callers *callers, void *const *frames, int count, int room,
                        const void *caller)
{
    int i = 0;
    while (i < count && frames[i] != caller)
        i++;
    for (; i < count; i++) {
        if (!add_caller(callers, (uintptr_t)frames[i], code_at((uintptr_t)frames[i])))
            return true;
    }
    if (count == room)
        return false;
    end_callers(callers);
    return true;
}

static __attribute__((noinline)) void unwind_callers(struct callers *callers, const void *caller)
{
    void *frames[BETWEEN_MAX];
    const int usual = callers->capacity + BETWEEN_USUAL;
    const int rooms[] = {usual < BETWEEN_MAX ? usual : BETWEEN_MAX, BETWEEN_MAX};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        callers->count = callers->start_count = 0;
        if (add_unwound(callers, frames, qmpi_call_stack_unwind(frames, rooms[i]), rooms[i],
                        caller))
            return;
    }
}

/* Unwinds the whole stack, for calls whose record does not contain the frame, and for stacks with a
 * frame whose rule is not supported. */
static __attribute__((noinline)) void find_any_callers(struct callers *callers,
                                                       const QMPIX_Call *call)
{
    const char *frame = qmpi_entry_frame;
    if (!qmpi_caller_frame_is_of(frame, call))
        frame = qmpi_caller_frame();
    void *const caller = frame ? qmpi_frame_return_address(frame) : qmpi_caller_of_layers();
    callers->count = callers->start_count = 0;
    if (!frame || !walk_up(callers, frame))
        unwind_callers(callers, caller);
    if (!callers->count && (callers->all[0] = caller))
        callers->count = 1; /* there is no code of the program on the stack */
}

int QMPIX_Call_get_callers(const QMPIX_Call *call, int capacity, void **callers, int *count)
{
    struct callers found = {.all = callers, .capacity = capacity};
    if (!call || !count || capacity < 0 || (capacity && !callers))
        return MPI_ERR_ARG;
    const char *const frame = qmpi_entry_frame;
    const bool is_found =
        qmpi_caller_frame_is_of(frame, call) && walk_up(&found, frame) && found.count;
    if (__builtin_expect(!is_found, 0) && capacity)
        find_any_callers(&found, call);
    *count = found.count;
    return MPI_SUCCESS;
}
