/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - one case table per op, run on every device x implementation.
 *
 * A suite is a list of cases over the public API. `run` makes operands, runs
 * the op, and compares; the harness says on which device, keeps what one case
 * may share between devices (the oracle's numbers), and owns every operand: all
 * are destroyed when run returns. The same tables serve `make check`,
 * `sesqui verify` and `sesqui bench` (where HARNESS_OP is timed and comparisons
 * are skipped).
 *
 *     static bool run(struct harness *b, size_t i)
 *     {
 *         struct operand x, y;
 *         harness_input(b, &x, SSQ_F16, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
 *         harness_output(b, &y, SSQ_F16, 2, shape, LAYOUT_PADDED);
 *         ssq_relu_args args = SSQ_RELU_INIT; ...
 *         HARNESS_OP(b, ssq_relu(b->queue, &args));
 *         harness_read(b, &y);
 *         for (..) want[i] = fmax(x.value[i], 0);
 *         return harness_bound(b, &y, want, error) && harness_same(b, &y);
 *     }
 *
 * After a failure every bed_ function is a no-op and run's result is false,
 * so cases need no checks between the steps. */
#ifndef CONFORMANCE_SUITE_H
#define CONFORMANCE_SUITE_H

#include <sesqui.h>

/** How an operand is in its buffer. Gaps and both ends hold sentinels that
 *  harness_read checks. */
enum layout {
    LAYOUT_DENSE,
    LAYOUT_PADDED,     /* gaps after every row, and an offset at the front */
    LAYOUT_TRANSPOSED, /* the last two dimensions swapped in memory */
    LAYOUT_BROADCAST   /* inputs: every stride 0 (one element) */
};

/** The contents of an input; always representable in its dtype. */
enum fill {
    FILL_NORMAL,   /* standard normal */
    FILL_UNIFORM,  /* [-0.5, 0.5] */
    FILL_POSITIVE, /* (0, 1] */
    FILL_INTEGERS, /* -8..8: sums stay exact */
    FILL_TINY,     /* around the smallest normals and subnormals */
    FILL_HUGE,     /* near the largest finite values */
    FILL_SPECIAL,  /* normals mixed with NaN, +-Inf, +-0, subnormals, max */
    FILL_ZERO,
    FILL_NAN,
    FILL_ONES
};

/** An operand of a case, on the device and as the host knows it. Everything is
 *  the harness's, and gone when run returns. */
struct operand {
    ssq_tensor *t; /* NULL after a failure */
    ssq_dtype dtype;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    int64_t n;         /* elements */
    double *value;     /* n values, dense row-major: given, or read back */
    uint32_t *bits;    /* n raw elements, in the same way */
    struct plot *plot; /* the harness': how it is in its buffer */
};

/** On what a case runs, and what came of it. The caller of harness_run fills in
 * the first half; the second begins again with each case. */
struct harness {
    ssq_device *device;
    ssq_queue *queue;
    ssq_device_props props;
    const char *impl; /* pinned implementation of the suite's op */
    bool bench;       /* HARNESS_OP repeats and is timed; comparisons pass */
    /** For support: HARNESS_OP only asks whether it would run. Nothing is
     * computed, so operands hold nothing and no comparison fails. */
    bool admit;
    unsigned taken, refused; /* ops so far that ran; rightly refused ones */
    unsigned dtypes;         /* 1 << dtype of every operand so far */
    double flops, bytes;     /* of one run: set by the case, for bench */
    /** For bench: something to time in turn with HARNESS_OP, its seconds; NULL.
     */
    double (*peer)(struct harness *b);
    double budget; /* for bench: seconds after which HARNESS_OP runs no more */
    bool failed, skipped;
    /** Skipped, but another implementation of the device ran the case: such a
     *  refusal is expected, and is not counted as a skip. */
    bool elsewhere;
    /** After the last case, for an implementation that took none of them: text
     *  is a reason why it refused some, and there may be several reports. No
     *  case is meant; elsewhere is true. */
    bool idle;
    char text[512];  /* why */
    uint64_t digest; /* of all raw elements that the case has read */
    struct harness_state *state; /* owned by harness.c */
};

struct suite {
    const char *op;   /* whose implementations are pinned: "gemm" */
    const char *name; /* of the table: "gemm" */
    size_t n;         /* cases */
    size_t floor;     /* fewest that must have run on reference and guard */
    /** The case as a sentence with its numbers, without the device. */
    void (*describe)(size_t i, char *text, size_t bytes);
    bool (*run)(struct harness *b, size_t i);
    bool bit_equal; /* class B: support prints it */
    /** Moves and conversions: float32 subnormals are kept on every device. */
    bool subnormals;
    /** For runs that do not test drivers: such runs do every stride-th case; 0
     *  and 1 are all of them, SUITE_NO_DRIVER none. */
    size_t stride;
    /** If drivers take turns (turns.h), even ones run the cases for which
     *  turn(i) % 8 is 0, odd ones those for which it is 1, and all of them
     *  those for which it is SUITE_ALL. If kernels differ by a function, it is
     *  a number of that function; if no dtype is a key of the kernels, it is
     *  suite_half. NULL: drivers share the mixes of element sizes, which
     *  descriptions name. */
    int (*turn)(size_t i);
    size_t large; /* cases n.. that only bench runs: too large to compare */
};

#define SUITE_ALL       (-1)
#define SUITE_NO_DRIVER SIZE_MAX
/** A turn: one half of the cases for even drivers, the other for odd ones. */
static inline int suite_half(size_t i)
{
    return (int)(i * 2654435761u >> 20 & 1u);
}
/** A turn for all kinds of this name: the same in every table. */
static inline int suite_turn(const char *kind)
{
    int sum = 0;
    while (*kind != '\0')
        sum += *kind++;
    return sum;
}

/** Every suite that `sesqui verify` knows, ended by NULL: suites.c. */
extern const struct suite *const suites[];

/** Does a name select the suite? A name is its table's, of its op, or of
 *  a public function that calls the op: "relu" selects the tables of "unary",
 *  "relu_backward" those of "unary_backward". NULL selects all. */
bool suite_named(const struct suite *suite, const char *name);
/** Name i of the ones that select a suite, sorted, without "NAME_backward";
 * NULL: at the end. */
const char *suite_name(size_t i);
/** The op that a public function calls: "unary" for "relu"; NULL if the name is
 *  not a function's. */
const char *suite_op(const char *function);

/** Inputs are drawn from the case's own stream: the same on every device.
 *  rank 0 takes shape NULL. */
void harness_input(struct harness *b, struct operand *x, ssq_dtype dtype,
                   int rank, const int64_t *shape, enum layout layout,
                   enum fill fill);
/** An input with given dense values, rounded to dtype (value is what it
 *  became). */
void harness_values(struct harness *b, struct operand *x, ssq_dtype dtype,
                    int rank, const int64_t *shape, enum layout layout,
                    const double *value);
/** The same from raw elements: NaN payloads and all. */
void harness_raw(struct harness *b, struct operand *x, ssq_dtype dtype,
                 int rank, const int64_t *shape, enum layout layout,
                 const uint32_t *bits);
/** For cases of `large`: normal numbers drawn on the device, or NULL. There is
 *  no image on the host, which would be larger still: not to be read. */
ssq_tensor *harness_large(struct harness *b, ssq_dtype dtype, int rank,
                          const int64_t *shape);
/** An output, filled with sentinels. */
void harness_output(struct harness *b, struct operand *y, ssq_dtype dtype,
                    int rank, const int64_t *shape, enum layout layout);
/** Sync and read value and bits; fails when a byte outside of the elements has
 *  changed: a gap, an end. Also of an input it reads the current contents; that
 * it still is what it was, harness_unchanged of case.h asks. */
void harness_read(struct harness *b, struct operand *y);

/** n zeroed doubles that live as long as this case on all devices. key tells
 *  several apart; *fresh is true when they must be computed. */
double *harness_keep(struct harness *b, int key, size_t n, bool *fresh);
/** Memory until run returns. */
void *harness_alloc(struct harness *b, size_t bytes);

/** Run an op; a status other than SSQ_OK fails the case, UNSUPPORTED on a
 *  device that is not required skips it. */
#define HARNESS_OP(B, CALL)                                                    \
    for (harness_start(B); harness_more(B);)                                   \
    harness_status(B, CALL)
void harness_start(struct harness *b);
bool harness_more(struct harness *b);
void harness_status(struct harness *b, ssq_status status);
/** Where ops are only asked about, a case is in a dry capture, in which some
 *  calls are refused: making a scaler, sealing an optimizer. A case that needs
 *  them puts them between harness_leave and harness_enter. */
void harness_leave(struct harness *b);
void harness_enter(struct harness *b);
/** An op that must be refused with this status. */
bool harness_refused(struct harness *b, ssq_status want, ssq_status got);

bool harness_fail(struct harness *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** |y - want| <= error + u_out (|want| + error) + eta_out for every element:
 *  doc/design/numbers.md. want is the float64 reference, never a rounded one;
 *  error the bound before the output is rounded. Non-finite wants compare by
 *  class (NaN, +Inf, -Inf); overflow of a 16-bit or 32-bit output as
 *  doc/design/numbers.md says. */
bool harness_bound(struct harness *b, const struct operand *y,
                   const double *want, const double *error);
/** The same with one error for all. */
bool harness_bound1(struct harness *b, const struct operand *y,
                    const double *want, double error);
/** Raw elements are equal; NaNs of any payload are equal to one another. */
bool harness_bits(struct harness *b, const struct operand *y,
                  const uint32_t *want);
/** Class B: the same raw elements as the first device's run of this case. */
bool harness_same(struct harness *b, const struct operand *y);
/** The error of an element of this value by a flushed subnormal, for exact
 *  comparisons: 0 but on devices that flush them (doc/design/numbers.md 4). */
double harness_flushed_error(const struct harness *b, double want);
/** got is within ulps units in the last place of y's dtype of want. */
bool harness_ulps(struct harness *b, const struct operand *y,
                  const double *want, double ulps);

/** value rounded to a dtype (nearest even), as a double. */
double harness_round(double value, ssq_dtype dtype);
/** A number of the case's stream: uniform in [0, 1). */
double harness_uniform(struct harness *b);

/** The report of a run over devices and implementations. */
typedef void (*suite_report_fn)(void *user, const char *device,
                                const char *impl, const struct suite *suite,
                                size_t i, const struct harness *b, bool ok);
/** Run one suite on every device that is here (or only on `only`), every
 *  implementation: cases outermost, so that oracles are shared. Devices named
 *  in SSQ_TEST_REQUIRE that are missing count as failures. turns: drivers take
 *  them.
 *  @return the number of failed cases */
size_t suite_run(const struct suite *suite, const char *only, bool turns,
                 suite_report_fn report, void *user);
/** Close the devices, which stay open from one suite to the next. Call it after
 *  the last suite. */
void suite_end(void);

/** A suite as a test: TAP on all devices. Returns the exit status. */
int suite_main(const struct suite *suite);

#endif
