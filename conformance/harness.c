/* SPDX-License-Identifier: Apache-2.0 */
/* harness.c - the harness: operands with sentinels, oracles shared between
 * devices, comparisons under the bounds of doc/design/numbers.md, timing for
 * bench. */
#include "conformance/suite_run.h"

#include "conformance/bounds.h"
#include "conformance/draw.h"
#include "conformance/element.h"
#include "conformance/plot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SENTINEL   0xA5
#define MARGIN     256 /* bytes of sentinels before and after an operand */
#define KEEPS      16  /* oracles a case may keep */
#define BENCH_RUNS 9

/* Memory of harness_alloc. */
struct harness_block {
    struct harness_block *next;
    max_align_t data[];
};

/* An oracle's numbers, of harness_keep; NULL: a free place. */
struct keep {
    int key;
    double *value;
};

struct harness_state {
    struct plot *plots;
    struct harness_block *blocks;
    struct keep keeps[KEEPS];
    uint32_t **first; /* outputs of the first device's run, for harness_same */
    /* outputs in first, and room for them; outputs of this run so far */
    size_t firsts, first_room, compared;
    struct draws draws;
    int runs;            /* of HARNESS_OP so far, the first one included */
    double start, began; /* of HARNESS_OP, and of its newest run */
    double seconds[BENCH_RUNS], peer[BENCH_RUNS];
    bool required; /* UNSUPPORTED is a failure */
};

static double harness_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With SSQ_TEST_FTZ in the environment every call of an op is made with the
 * caller's FTZ and DAZ set, which must neither change a bit nor be lost. Only
 * the calls: the harness's own arithmetic needs subnormals. */
#if defined(__x86_64__)
#include <xmmintrin.h>
#define FLUSHING 0x8040u
static bool flushing; /* begun, and not ended */
static void flush_begin(void)
{
    flushing = getenv("SSQ_TEST_FTZ") != NULL;
    if (flushing)
        _mm_setcsr(_mm_getcsr() | FLUSHING);
}
static bool flush_end(void)
{
    unsigned modes = _mm_getcsr();
    bool kept = !flushing || (modes & FLUSHING) == FLUSHING;
    flushing = false;
    _mm_setcsr(modes & ~FLUSHING);
    return kept;
}
#else
static void flush_begin(void)
{
}
static bool flush_end(void)
{
    return true;
}
#endif

/* Is the case over? */
static bool dead(const struct harness *b)
{
    return b->failed || b->skipped;
}

bool harness_fail(struct harness *b, const char *format, ...)
{
    if (dead(b) || b->admit)
        return false;
    b->failed = true;
    va_list args;
    va_start(args, format);
    vsnprintf(b->text, sizeof(b->text), format, args);
    va_end(args);
    return false;
}

/* Nothing is compared when there is nothing to compare. */
static bool harness_passes(const struct harness *b)
{
    return dead(b) || b->bench || b->admit;
}

/* True if the status is SSQ_OK; else the case fails with the library's text. */
static bool good(struct harness *b, ssq_status st)
{
    if (st == SSQ_OK || dead(b))
        return st == SSQ_OK;
    b->failed = true;
    snprintf(b->text, sizeof(b->text), "%s: %s", ssq_status_name(st),
             ssq_last_error());
    return false;
}

void *harness_alloc(struct harness *b, size_t bytes)
{
    struct harness_block *k = calloc(1, sizeof(*k) + (bytes == 0 ? 1 : bytes));
    if (k == NULL)
        abort(); /* a test without memory tests nothing */
    k->next = b->state->blocks;
    b->state->blocks = k;
    return k->data;
}

double *harness_keep(struct harness *b, int key, size_t n, bool *fresh)
{
    struct keep *k = b->state->keeps;
    *fresh = false;
    for (int i = 0; i < KEEPS; i++, k++) {
        if (k->value != NULL && k->key == key)
            return k->value;
        if (k->value != NULL)
            continue;
        k->key = key;
        k->value = calloc(n == 0 ? 1 : n, sizeof(double));
        *fresh = !b->admit; /* nothing is compared with them */
        if (k->value != NULL)
            return k->value;
    }
    abort(); /* more than KEEPS oracles: raise it */
}

double harness_uniform(struct harness *b)
{
    return draw_uniform(&b->state->draws);
}

/* An operand with a buffer full of sentinels, and two tensors over it: the
 * operand's own, and all of the bytes. The values are there even after a
 * failure, so that a case's oracle may write them. */
static void harness_make(struct harness *b, struct operand *x, ssq_dtype dtype,
                         int rank, const int64_t *shape, enum layout layout)
{
    *x = (struct operand){.dtype = dtype, .rank = rank, .n = 1};
    b->dtypes |= 1u << dtype;
    x->plot = harness_alloc(b, sizeof(*x->plot));
    struct plot *p = x->plot;
    for (int i = 0; i < rank; i++) {
        x->shape[i] = shape[i];
        x->n *= shape[i];
    }
    x->value = harness_alloc(b, (size_t)x->n * sizeof(double));
    x->bits = harness_alloc(b, (size_t)x->n * sizeof(uint32_t));
    if (dead(b))
        return;
    int64_t span = plot_lay_out(x, layout);
    size_t size = element_bytes(dtype);
    p->dense = layout == LAYOUT_DENSE;
    p->element = size;
    p->offset = MARGIN + (layout == LAYOUT_PADDED ? 3 * size : 0);
    p->size = p->offset + (uint64_t)span * size + MARGIN;
    p->image = harness_alloc(b, p->size);
    if (!b->admit)
        memset(p->image, SENTINEL, p->size);
    p->next = b->state->plots;
    b->state->plots = p;
    ssq_buffer *buffer = NULL;
    if (!good(b, ssq_buffer_create(b->device, p->size, &buffer)))
        return;
    int64_t bytes = (int64_t)p->size;
    if (good(b, ssq_tensor_from_buffer(buffer, SSQ_U8, 1, &bytes, NULL, 0,
                                       &p->bytes)))
        good(b, ssq_tensor_from_buffer(buffer, dtype, rank, shape, p->stride,
                                       p->offset, &p->tensor));
    x->t = p->tensor;
    ssq_buffer_destroy(&buffer);
}

/* Nothing is promised of float32 subnormals where a device flushes them
 * (doc/design/numbers.md 4): there inputs have zeros from the start, for the
 * reference too. */
static void flush_input(const struct harness *b, struct operand *x)
{
    uint32_t sign = x->dtype == SSQ_F32 ? 0x80000000u : 0x8000u;
    uint32_t exponent = x->dtype == SSQ_F32 ? 0x7f800000u : 0x7f80u;
    if (!b->state->draws.flushed ||
        (x->dtype != SSQ_F32 && x->dtype != SSQ_BF16))
        return;
    for (int64_t i = 0; i < x->n; i++)
        if ((x->bits[i] & exponent) == 0)
            x->bits[i] &= sign;
}

/* Return whether operands are filled: not if the case has failed, nor if it
 * only asks whether the device admits it. */
static bool filling(const struct harness *b)
{
    return !dead(b) && !b->admit;
}

/* Send the image, and take the values that are really there: of a broadcast
 * operand the last. */
static void harness_send(struct harness *b, struct operand *x)
{
    plot_read(x, x->plot->image);
    good(b, ssq_tensor_write(b->queue, x->plot->bytes, x->plot->image,
                             x->plot->size, SSQ_U8));
}

/* Send the operand's bits as an input. */
static void send_input(struct harness *b, struct operand *x)
{
    flush_input(b, x);
    plot_write(x, x->plot->image);
    harness_send(b, x);
}

void harness_input(struct harness *b, struct operand *x, ssq_dtype dtype,
                   int rank, const int64_t *shape, enum layout layout,
                   enum fill fill)
{
    harness_make(b, x, dtype, rank, shape, layout);
    if (!filling(b))
        return;
    draw_bits(&b->state->draws, dtype, fill, x->bits, (size_t)x->n);
    send_input(b, x);
}

void harness_values(struct harness *b, struct operand *x, ssq_dtype dtype,
                    int rank, const int64_t *shape, enum layout layout,
                    const double *value)
{
    harness_make(b, x, dtype, rank, shape, layout);
    if (!filling(b))
        return;
    for (int64_t i = 0; i < x->n; i++)
        x->bits[i] = element_bits(harness_round(value[i], dtype), dtype);
    send_input(b, x);
}

void harness_raw(struct harness *b, struct operand *x, ssq_dtype dtype,
                 int rank, const int64_t *shape, enum layout layout,
                 const uint32_t *bits)
{
    harness_make(b, x, dtype, rank, shape, layout);
    if (!filling(b))
        return;
    memcpy(x->bits, bits, (size_t)x->n * sizeof(*bits));
    send_input(b, x);
}

ssq_tensor *harness_large(struct harness *b, ssq_dtype dtype, int rank,
                          const int64_t *shape)
{
    if (dead(b))
        return NULL;
    struct plot *p = harness_alloc(b, sizeof(*p));
    ssq_random_normal_args draw = SSQ_RANDOM_NORMAL_INIT;
    p->next = b->state->plots;
    b->state->plots = p;
    b->dtypes |= 1u << dtype;
    bool ok =
        good(b, ssq_tensor_create(b->device, dtype, rank, shape, &p->tensor));
    draw.x = p->tensor;
    if (ok && !b->admit)
        good(b, ssq_random_normal(b->queue, &draw));
    return p->tensor;
}

void harness_output(struct harness *b, struct operand *y, ssq_dtype dtype,
                    int rank, const int64_t *shape, enum layout layout)
{
    harness_make(b, y, dtype, rank, shape, layout);
    if (filling(b))
        harness_send(b, y);
}

/* FNV-1a over the raw elements: one changed bit anywhere changes the digest. */
static void harness_digest(struct harness *b, const struct operand *y)
{
    for (int64_t i = 0; i < y->n; i++)
        b->digest = (b->digest ^ y->bits[i]) * 0x100000001b3u;
}

void harness_read(struct harness *b, struct operand *y)
{
    if (dead(b) || b->admit)
        return;
    struct plot *p = y->plot;
    unsigned char *got = harness_alloc(b, p->size);
    flush_begin(); /* a device may run its work only now */
    ssq_status st = ssq_tensor_read(b->queue, p->bytes, got, p->size, SSQ_U8);
    if (st == SSQ_OK)
        st = ssq_queue_sync(b->queue);
    if (!flush_end())
        harness_fail(b, "the caller's FTZ and DAZ were lost at the sync");
    if (!good(b, st))
        return;
    plot_read(y, got);
    harness_digest(b, y);
    /* the image with these elements: the expected bytes of the buffer */
    plot_write(y, p->image);
    if (memcmp(got, p->image, p->size) == 0)
        return;
    uint64_t k = 0;
    while (got[k] == p->image[k])
        k++;
    harness_fail(b, "byte %llu of an operand at %llu of %llu was changed",
                 (unsigned long long)k, (unsigned long long)p->offset,
                 (unsigned long long)p->size);
}

void harness_start(struct harness *b)
{
    b->state->runs = 0;
    if (b->bench && !dead(b))
        good(b, ssq_queue_sync(b->queue));
}

void harness_enter(struct harness *b)
{
    if (b->admit)
        good(b, ssq_graph_begin_dry(b->queue));
}

/* A case may have left an optimizer's step half done: a capture that ends so is
 * refused, and is over nevertheless. */
void harness_leave(struct harness *b)
{
    ssq_graph *none = NULL;
    if (b->admit && ssq_graph_end(b->queue, &none) != SSQ_OK)
        harness_fail(b, "%s", ssq_last_error());
}

/* Would one more run, as long as the last, end after the budget? */
static bool spent(const struct harness *b, double last)
{
    double end = harness_now() + last;
    return b->state->runs > 0 && b->budget > 0.0 &&
           end - b->state->start > b->budget;
}

/* The first run warms up and is not counted, unless it is the only one. */
static bool bench_more(struct harness *b)
{
    struct harness_state *s = b->state;
    double last = 0.0;
    if (s->runs > 0) {
        good(b, ssq_queue_sync(b->queue));
        int at = s->runs > 1 ? s->runs - 2 : 0;
        s->seconds[at] = harness_now() - s->began;
        s->peer[at] = b->peer != NULL && !dead(b) ? b->peer(b) : 0.0;
        last = s->seconds[at] + s->peer[at];
    }
    if (s->runs == BENCH_RUNS + 1 || dead(b))
        return false;
    if (spent(b, last)) {
        s->runs = s->runs > 1 ? s->runs : 2;
        return false;
    }
    s->runs++;
    s->began = harness_now();
    if (s->runs == 1)
        s->start = s->began;
    return true;
}

bool harness_more(struct harness *b)
{
    struct harness_state *s = b->state;
    if (dead(b))
        return false;
    if (!b->bench) {
        if (s->runs++ != 0)
            return false;
        flush_begin();
        return true;
    }
    return bench_more(b);
}

void harness_status(struct harness *b, ssq_status status)
{
    if (!flush_end() && !b->admit && !b->bench)
        harness_fail(b, "the caller's FTZ and DAZ were lost");
    b->taken += status == SSQ_OK;
    if (status == SSQ_OK || dead(b))
        return;
    /* an artificial limit excuses what cannot be split */
    bool excused = !b->state->required || getenv("SSQ_LIMIT_BINDING") != NULL;
    if (status == SSQ_ERR_UNSUPPORTED && excused) {
        b->skipped = true;
        snprintf(b->text, sizeof(b->text), "%s", ssq_last_error());
        return;
    }
    good(b, status);
}

bool harness_refused(struct harness *b, ssq_status want, ssq_status got)
{
    b->refused += got == want && got != SSQ_OK;
    if (got != want && b->admit)
        return good(b, got == SSQ_OK ? SSQ_ERR_INVALID : got);
    if (got != want && !harness_passes(b))
        return harness_fail(b, "answered %s, expected %s (%s)",
                            ssq_status_name(got), ssq_status_name(want),
                            ssq_last_error());
    return !dead(b);
}

/* Fail by element i. */
static bool harness_differ(struct harness *b, const struct operand *y,
                           int64_t i, double want, double allowed)
{
    return harness_fail(
        b,
        "element %lld of %lld (%s) is %.9g (0x%x), expected %.9g "
        "within %.3g, off by %.3g",
        (long long)i, (long long)y->n, ssq_dtype_name(y->dtype), y->value[i],
        (unsigned)y->bits[i], want, allowed, fabs(y->value[i] - want));
}

double harness_flushed_error(const struct harness *b, double want)
{
    return b->state->draws.flushed && fabs(want) < 0x1p-110 ? 0x1p-118 : 0.0;
}

/* Is got as near to want as doc/design/numbers.md promises? An infinity is
 * right where the exact result may be one after the error, and required where
 * it must be. */
static bool harness_within(const struct harness *b, double got, double want,
                           double error, ssq_dtype d)
{
    double over = bound_overflow(d);
    error += harness_flushed_error(b, want);
    if (isnan(want))
        return isnan(got);
    if (isinf(want))
        return got == want;
    if (isnan(got))
        return false;
    if (isinf(got))
        return signbit(got) == signbit(want) && fabs(want) + error >= over;
    if (fabs(want) - error >= over)
        return false; /* infinity was required */
    return fabs(got - want) <= bound_store(want, error, d);
}

bool harness_bound(struct harness *b, const struct operand *y,
                   const double *want, const double *error)
{
    for (int64_t i = 0; i < y->n && !harness_passes(b); i++)
        if (!harness_within(b, y->value[i], want[i], error[i], y->dtype))
            return harness_differ(b, y, i, want[i],
                                  bound_store(want[i], error[i], y->dtype));
    return !dead(b);
}

bool harness_bound1(struct harness *b, const struct operand *y,
                    const double *want, double error)
{
    for (int64_t i = 0; i < y->n && !harness_passes(b); i++)
        if (!harness_within(b, y->value[i], want[i], error, y->dtype))
            return harness_differ(b, y, i, want[i],
                                  bound_store(want[i], error, y->dtype));
    return !dead(b);
}

bool harness_ulps(struct harness *b, const struct operand *y,
                  const double *want, double ulps)
{
    for (int64_t i = 0; i < y->n && !harness_passes(b); i++) {
        double w = want[i], g = y->value[i];
        if ((isnan(w) && isnan(g)) || w == g)
            continue;
        int digits = y->dtype == SSQ_F32 ? 24 : y->dtype == SSQ_F16 ? 11 : 8;
        int e;
        (void)frexp(w, &e);
        double ulp = fmax(ldexp(1.0, e - digits), 2.0 * bound_eta(y->dtype));
        double over = bound_overflow(y->dtype);
        double lost = harness_flushed_error(b, w);
        bool fine =
            isinf(g) ? fabs(w) + ulps * ulp >= over && signbit(g) == signbit(w)
                     : fabs(g - w) <= ulps * ulp + lost;
        if (isnan(w) || isnan(g) || isinf(w) || !fine)
            return harness_differ(b, y, i, w, ulps * ulp);
    }
    return !dead(b);
}

static bool harness_same_bits(const struct harness *b, uint32_t got,
                              uint32_t want, ssq_dtype d)
{
    double g = element_value(got, d), w = element_value(want, d);
    double lost = harness_flushed_error(b, w);
    return got == want || (isnan(g) && isnan(w)) ||
           (lost > 0.0 && d != SSQ_I32 && d != SSQ_U8 && fabs(g - w) <= lost);
}

bool harness_bits(struct harness *b, const struct operand *y,
                  const uint32_t *want)
{
    for (int64_t i = 0; i < y->n && !harness_passes(b); i++)
        if (!harness_same_bits(b, y->bits[i], want[i], y->dtype))
            return harness_fail(
                b, "element %lld of %lld is 0x%x, expected 0x%x", (long long)i,
                (long long)y->n, (unsigned)y->bits[i], (unsigned)want[i]);
    return !dead(b);
}

bool harness_same(struct harness *b, const struct operand *y)
{
    struct harness_state *s = b->state;
    if (harness_passes(b))
        return !dead(b);
    size_t k = s->compared++;
    if (k < s->firsts)
        return harness_bits(b, y, s->first[k]);
    if (k == s->first_room) {
        s->first_room = k * 2 + 4;
        s->first = realloc(s->first, s->first_room * sizeof(*s->first));
    }
    s->first[k] = malloc(((size_t)y->n + 1) * sizeof(uint32_t));
    if (s->first == NULL || s->first[k] == NULL)
        abort();
    memcpy(s->first[k], y->bits, (size_t)y->n * sizeof(uint32_t));
    s->firsts++;
    return true;
}

/* Operands and memory of a run go; oracles stay until the next case. */
static void end_run(struct harness *b)
{
    struct harness_state *s = b->state;
    for (struct plot *p = s->plots; p != NULL; p = p->next) {
        ssq_tensor_destroy(&p->bytes);
        ssq_tensor_destroy(&p->tensor);
    }
    s->plots = NULL;
    while (s->blocks != NULL) {
        struct harness_block *next = s->blocks->next;
        free(s->blocks);
        s->blocks = next;
    }
}

void harness_case_begin(struct harness_state *s, bool flushed)
{
    draws_begin(&s->draws, flushed);
    for (int i = 0; i < KEEPS; i++) {
        free(s->keeps[i].value);
        s->keeps[i].value = NULL;
    }
    for (size_t i = 0; i < s->firsts; i++)
        free(s->first[i]);
    s->firsts = 0;
}

struct harness_state *harness_state_create(void)
{
    struct harness_state *s = calloc(1, sizeof(*s));
    if (s == NULL)
        abort();
    return s;
}

void harness_state_destroy(struct harness_state *s)
{
    harness_case_begin(s, false);
    free(s->first);
    free(s);
}

/* For support in a dry capture: every call is checked and dispatched, and
 * nothing is compiled or run. */
static void harness_run_case(struct harness *b, const struct suite *suite,
                             size_t i)
{
    harness_enter(b);
    bool ok = suite->run(b, i) && !b->failed;
    harness_leave(b);
    if (b->admit)
        return;
    if (!ok && !dead(b))
        harness_fail(b, "the case failed without a text");
    /* whatever the case left enqueued must be done before operands go */
    ssq_status st = ssq_queue_sync(b->queue);
    if (st != SSQ_OK && !b->failed)
        harness_fail(b, "at sync: %s: %s", ssq_status_name(st),
                     ssq_last_error());
}

bool harness_run(struct harness *b, const struct suite *suite, size_t i,
                 bool required)
{
    struct harness_state *s = b->state;
    b->failed = b->skipped = false;
    b->text[0] = '\0';
    b->flops = b->bytes = 0.0;
    b->dtypes = b->taken = b->refused = 0;
    b->digest = 0xcbf29ce484222325u;
    s->required = required;
    s->compared = 0;
    /* by the case alone: every device and implementation has the same inputs */
    s->draws.random = 0x5e591 + i * 0x10001u;
    harness_run_case(b, suite, i);
    end_run(b);
    return !b->failed;
}

int harness_times(const struct harness *b, const double **seconds,
                  const double **peer)
{
    *seconds = b->state->seconds;
    *peer = b->state->peer;
    return b->state->runs > 1 ? b->state->runs - 1 : 0;
}
