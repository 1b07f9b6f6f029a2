/* SPDX-License-Identifier: Apache-2.0 */
/* mma_refused.c - what the implementation mma does not take, by value, and what
 * ssq_gemm_explain says of it.
 *
 * A call that is pinned to mma is refused with the reason and writes nothing;
 * without the pin another one does it. Bits are the reference's, because all
 * numbers are small integers. The argument is the device; without one it is
 * cuda:0, and what other devices refuse is tried as well. A second argument is
 * the reason for which this device does not take a product that is whole. */
#include "tests/core/driver.h"

#define MOST 4096

/* The views of a product in buffers of 16-bit integers: rank, sizes, and steps
 * in elements; at: where the first one is. */
struct mma_refused_operand {
    ssq_dtype dtype;
    int rank;
    int64_t size[4], step[4], at;
};

struct mma_refused_form {
    struct mma_refused_operand a, b, d;
    double alpha;
};

static const char *device = "cuda:0";

/* The reference and the device, which are kept: to open one is most of the
 * work. */
static struct {
    ssq_device *dev;
    ssq_queue *q;
} kept[2];

static void open_kept(bool reference)
{
    NEED(ssq_device_open(reference ? "reference" : device, NULL,
                         &kept[reference].dev));
    NEED(ssq_queue_create(kept[reference].dev, NULL, &kept[reference].q));
}

struct mma_refused_work {
    ssq_device *dev;
    ssq_queue *q;
    ssq_buffer *buffer[3];
    ssq_tensor *tensor[3];
    ssq_gemm_args args;
};

#define F16_OF(M, N)                                                           \
    {                                                                          \
        SSQ_F16, 2, {M, N}, {N, 1}, 0                                          \
    }
#define PLAIN                                                                  \
    {                                                                          \
        F16_OF(24, 40), F16_OF(40, 32), F16_OF(24, 32), 1.0                    \
    }

static void make(struct mma_refused_work *w, int i,
                 const struct mma_refused_operand *o)
{
    static float zeros[MOST], x[MOST];
    ssq_tensor *all = NULL;
    const int64_t room = MOST;

    for (int k = 0; k < MOST; k++)
        x[k] = (float)((k * 7 + i * 5) % 9 - 4);
    NEED(ssq_buffer_create(w->dev, MOST * 4, &w->buffer[i]));
    NEED(ssq_tensor_from_buffer(w->buffer[i], o->dtype, 1, &room, NULL, 0,
                                &all));
    NEED(ssq_tensor_write(w->q, all, i == 2 ? zeros : x, sizeof(x), SSQ_F32));
    NEED(ssq_tensor_from_buffer(
        w->buffer[i], o->dtype, o->rank, o->size, o->step,
        (uint64_t)o->at * (o->dtype == SSQ_F32 ? 4 : 2), &w->tensor[i]));
    /* the next operand's numbers take the place of these */
    NEED(ssq_queue_sync(w->q));
    ssq_tensor_destroy(&all);
}

static void begin(struct mma_refused_work *w, bool reference,
                  const struct mma_refused_form *f)
{
    memset(w, 0, sizeof(*w));
    w->dev = kept[reference].dev;
    w->q = kept[reference].q;
    make(w, 0, &f->a);
    make(w, 1, &f->b);
    make(w, 2, &f->d);
    w->args = (ssq_gemm_args)SSQ_GEMM_INIT;
    w->args.a = w->tensor[0];
    w->args.b = w->tensor[1];
    w->args.d = w->tensor[2];
    w->args.alpha = f->alpha;
}

static ssq_status multiply(struct mma_refused_work *w,
                           const struct mma_refused_form *f)
{
    return f->d.rank == 2 ? ssq_gemm(w->q, &w->args)
                          : ssq_gemm_batched(w->q, &w->args);
}

/* All of d's buffer, so that what is beside it is compared as well. */
static void read_all(struct mma_refused_work *w,
                     const struct mma_refused_form *f, float *x)
{
    const int64_t room = MOST;
    ssq_tensor *all = NULL;

    NEED(ssq_tensor_from_buffer(w->buffer[2], f->d.dtype, 1, &room, NULL, 0,
                                &all));
    NEED(ssq_tensor_read(w->q, all, x, MOST * sizeof(*x), SSQ_F32));
    NEED(ssq_queue_sync(w->q));
    ssq_tensor_destroy(&all);
}

static void end(struct mma_refused_work *w)
{
    for (int i = 0; i < 3; i++) {
        ssq_tensor_destroy(&w->tensor[i]);
        ssq_buffer_destroy(&w->buffer[i]);
    }
}

static void expect(const struct mma_refused_form *f, float *x)
{
    struct mma_refused_work w;

    begin(&w, true, f);
    NEED(multiply(&w, f));
    read_all(&w, f, x);
    end(&w);
}

/* Does explain's text have the reason? If the text is too short for all
 * reasons, because the one of cublaslt has a long path, the last is cut. */
static bool tells(const ssq_gemm_explanation *x, const char *reason)
{
    size_t there = strlen(x->condition), n = strlen(reason);

    if (core_has(x->condition, reason))
        return true;
    if (there + 1 < sizeof(x->condition))
        return false;
    for (; n >= 16; n--)
        if (memcmp(x->condition + there - n, reason, n) == 0)
            return true;
    return false;
}

/* By mma where reason is NULL; else by another one, and pinned to mma refused
 * for this reason, which explain has as well. */
static void compare(const char *what, const struct mma_refused_form *f,
                    const char *reason)
{
    static float want[MOST], got[MOST], none[MOST];
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    struct mma_refused_work w;
    bool told, whole, right;

    expect(f, want);
    begin(&w, false, f);
    NEED(ssq_implementation_pin(w.dev, "gemm", "mma"));
    ssq_status st = multiply(&w, f);
    told = reason == NULL ? st == SSQ_OK
                          : st == SSQ_ERR_UNSUPPORTED &&
                                core_has(ssq_last_error(), reason);
    char said[512];
    snprintf(said, sizeof(said), "%s", ssq_last_error());
    read_all(&w, f, got);
    /* a call that was refused has written nothing */
    whole = memcmp(got, reason == NULL ? want : none, sizeof(got)) == 0;
    NEED(ssq_implementation_pin(w.dev, "gemm", NULL));
    NEED(ssq_gemm_explain(w.q, &w.args, &x));
    if (reason != NULL)
        NEED(multiply(&w, f));
    read_all(&w, f, got);
    right = memcmp(got, want, sizeof(got)) == 0;
    tap_ok(told && whole && right, "%s: %s", what,
           reason == NULL ? "taken" : reason);
    if (!told || !whole || !right)
        tap_diag("told %d whole %d right %d: %s", told, whole, right, said);
    if (reason == NULL)
        tap_ok(strcmp(x.implementation, "mma") == 0 && x.matrix_units &&
                   x.block != 0 && x.condition[0] == '\0',
               "%s: by %s, blocks of %u", what, x.implementation, x.block);
    else
        tap_ok(strcmp(x.implementation, "mma") != 0 && !x.matrix_units &&
                   (f->alpha == 0.0 || tells(&x, reason)),
               "%s: by %s: %s", what, x.implementation, x.condition);
    end(&w);
}

static void test_lines(void)
{
    struct mma_refused_form f = PLAIN;

    compare("a whole product", &f, NULL);
    f.a.at = 1;
    compare("a 2 bytes further", &f,
            "a's lines must begin at multiples of 16 bytes: its address is 2 "
            "over one, leading dimension 40, batch 0");
    f = (struct mma_refused_form)PLAIN;
    f.b.step[0] = 36;
    compare("b's rows of 36", &f,
            "b's lines must begin at multiples of 16 bytes: its address is 0 "
            "over one, leading dimension 36, batch 0");
    f = (struct mma_refused_form){{SSQ_BF16, 3, {2, 24, 40}, {964, 40, 1}, 0},
                                  {SSQ_BF16, 3, {2, 40, 32}, {1280, 32, 1}, 0},
                                  {SSQ_BF16, 3, {2, 24, 32}, {768, 32, 1}, 0},
                                  1.0};
    compare("matrices of a 964 apart", &f,
            "its address is 0 over one, leading dimension 40, batch 964");
    f.a.step[0] = 968;
    compare("968 apart", &f, NULL);
    /* the other order, whose lines are columns */
    f = (struct mma_refused_form)PLAIN;
    f.a = (struct mma_refused_operand){SSQ_F16, 2, {24, 40}, {1, 28}, 0};
    compare("a's columns of 28", &f, "leading dimension 28");
    f.a.step[1] = 32;
    compare("a's columns of 32", &f, NULL);
}

static void test_others(void)
{
    struct mma_refused_form f = PLAIN;

    f.a.dtype = f.b.dtype = SSQ_F32;
    compare("f32", &f, "a and b must both be f16 or both bf16");
    f = (struct mma_refused_form)PLAIN;
    f.alpha = 0.0;
    compare("alpha 0", &f, "k or alpha is 0: nothing is multiplied");
    f = (struct mma_refused_form){
        {SSQ_F16, 4, {2, 2, 8, 16}, {600, 256, 16, 1}, 0},
        {SSQ_F16, 4, {2, 2, 16, 8}, {512, 128, 8, 1}, 0},
        {SSQ_F16, 4, {2, 2, 8, 8}, {512, 64, 8, 1}, 0},
        1.0};
    compare("two batch dimensions", &f, "it has one batch dimension");
}

/* Fewer rows than half of a matrix: the plan is asked first, and a pin does. */
static void test_few(void)
{
    static float want[MOST], got[MOST];
    struct mma_refused_form f = PLAIN;
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    struct mma_refused_work w;

    f.a.size[0] = f.d.size[0] = 4;
    expect(&f, want);
    begin(&w, false, &f);
    NEED(ssq_gemm_explain(w.q, &w.args, &x));
    NEED(ssq_implementation_pin(w.dev, "gemm", "mma"));
    NEED(multiply(&w, &f));
    read_all(&w, &f, got);
    tap_ok(strcmp(x.implementation, "mma") != 0 &&
               core_has(x.condition, "mma: slower here") &&
               memcmp(want, got, sizeof(got)) == 0,
           "4 rows: by %s: %s; pinned, by mma", x.implementation, x.condition);
    end(&w);
}

/* Another device: a variable of the environment, and the result of a gemm of
 * this dtype that is pinned to mma. */
struct mma_refused_other {
    const char *name, *value;
    ssq_dtype dtype;
    const char *reason; /* NULL: it is taken */
};

static int try_other(void *user)
{
    const struct mma_refused_other *o = user;
    struct mma_refused_form f = PLAIN;
    struct mma_refused_work w;

    setenv(o->name, o->value, 1);
    open_kept(false);
    f.a.dtype = f.b.dtype = f.d.dtype = o->dtype;
    begin(&w, false, &f);
    NEED(ssq_implementation_pin(w.dev, "gemm", "mma"));
    ssq_status st = multiply(&w, &f);
    if (o->reason == NULL)
        return st == SSQ_OK ? 0 : 1;
    return st == SSQ_ERR_UNSUPPORTED && core_has(ssq_last_error(), o->reason)
               ? 0
               : 1;
}

/* In children, because a module asks only once what the devices are. */
static void test_devices(void)
{
    static const struct mma_refused_other others[] = {
        {"FAKECUDA_CAPABILITY", "75", SSQ_F16, NULL},
        {"FAKECUDA_CAPABILITY", "75", SSQ_BF16,
         "mma of bf16 needs compute capability 8.0 or later, this is 7.5"},
        {"FAKECUDA_CAPABILITY", "70", SSQ_F16,
         "mma of f16 needs compute capability 7.5 or later, this is 7.0"},
        {"FAKECUDA_MMA", "half", SSQ_BF16,
         "it fails the self-test of bf16, tiles of 64: integers: sums are "
         "rounded to less than float32"}};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct mma_refused_other o = others[i];

        tap_ok(tap_exited(tap_fork(try_other, &o, 60), 0), "%s=%s, %s: %s",
               o.name, o.value, ssq_dtype_name(o.dtype),
               o.reason == NULL ? "taken" : o.reason);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        device = argv[1];
    /* a cuBLASLt that cannot be opened, or it would be asked first */
    setenv("FAKEBLAS_FAIL", "create", 1);
    if (argc == 1 && driver_missing("cuda"))
        return tap_done(0);
    if (argc == 1)
        test_devices();
    open_kept(true);
    open_kept(false);
    if (argc > 2) {
        const struct mma_refused_form f = PLAIN;
        compare("a whole product", &f, argv[2]);
    } else {
        test_lines();
        test_others();
        test_few();
    }
    for (int i = 0; i < 2; i++) {
        ssq_queue_destroy(&kept[i].q);
        ssq_device_close(&kept[i].dev);
    }
    return tap_done(argc == 1 ? 25 : argc == 2 ? 21 : 2);
}
