/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - `sesqui tune`: finds and stores the fastest implementations of
 * matrix products. ssq_gemm_tune does the work; this file creates the tensors.
 *
 * Without shapes it tunes the products that `sesqui bench` times. */
#include "conformance/gemm/gemm_case.h"
#include "tools/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** A product from the command line. batch 0: two dimensions. */
struct tune_shape {
    int64_t m, n, k, batch;
    ssq_dtype factor, result;
    bool trans_a, trans_b;
};

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

/* ---- the command line ---- */

/* "4096,4096,1024" or "128,128,64,12" */
static bool tune_read_sizes(const char *word, struct tune_shape *s)
{
    int64_t *size[] = {&s->m, &s->n, &s->k, &s->batch};
    const char *at = word;
    for (int i = 0; i < 4; i++) {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        *size[i] = strtoll(at, &end, 10);
        if (*size[i] < 1 || *size[i] > INT32_MAX)
            return false;
        if (*end == '\0')
            return i >= 2;
        if (*end != ',')
            return false;
        at = end + 1;
    }
    return false;
}

static bool tune_read_dtype(const char *word, size_t n, ssq_dtype *dtype)
{
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        if (strlen(ssq_dtype_name(dtypes[i])) == n &&
            strncmp(ssq_dtype_name(dtypes[i]), word, n) == 0) {
            *dtype = dtypes[i];
            return true;
        }
    return false;
}

/* "f16", whose result is f16, or "f16,f32" */
static bool read_types(const char *word, struct tune_shape *s)
{
    size_t n = strcspn(word, ",");
    if (!tune_read_dtype(word, n, &s->factor))
        return false;
    s->result = s->factor;
    return word[n] == '\0' ||
           tune_read_dtype(word + n + 1, strlen(word + n + 1), &s->result);
}

/* "nn", "nt", "tn", "tt" */
static bool read_orders(const char *word, struct tune_shape *s)
{
    if (strlen(word) != 2 || strspn(word, "nt") != 2)
        return false;
    s->trans_a = word[0] == 't';
    s->trans_b = word[1] == 't';
    return true;
}

static int tune_usage(const char *what, const char *word)
{
    fprintf(stderr, "sesqui: tune: %s: %s\n", what, word);
    return EXIT_USAGE;
}

/* Read the options of all shapes, and check that each shape can be read. */
static int read_options(const struct options *o, struct tune_shape *s)
{
    *s = (struct tune_shape){.factor = SSQ_F16, .result = SSQ_F16};
    if (o->types != NULL && !read_types(o->types, s))
        return tune_usage("no dtypes, as f16 or f16,f32", o->types);
    if (o->orders != NULL && !read_orders(o->orders, s))
        return tune_usage("no orders, as nn, nt, tn or tt", o->orders);
    if (o->clear && o->words > 0)
        return tune_usage("--clear forgets all shapes, not one", o->word[0]);
    for (unsigned i = 0; i < o->words; i++) {
        struct tune_shape one = *s;
        if (!tune_read_sizes(o->word[i], &one))
            return tune_usage("no shape, as M,N,K or M,N,K,BATCH", o->word[i]);
    }
    return EXIT_FINE;
}

/* ---- a product ---- */

static bool tune_make(ssq_queue *q, const struct tune_shape *s, ssq_dtype dtype,
                      int64_t rows, int64_t columns, ssq_tensor **t)
{
    const int64_t shape[] = {s->batch, rows, columns};
    return ones(q, dtype, s->batch == 0 ? 2 : 3,
                s->batch == 0 ? shape + 1 : shape, t);
}

static ssq_status tune(ssq_queue *q, const struct tune_shape *s, bool tf32,
                       ssq_gemm_tuning *found)
{
    ssq_tensor *a = NULL, *b = NULL, *d = NULL;
    ssq_status st = SSQ_ERR_NOMEM;
    if (tune_make(q, s, s->factor, s->trans_a ? s->k : s->m,
                  s->trans_a ? s->m : s->k, &a) &&
        tune_make(q, s, s->factor, s->trans_b ? s->n : s->k,
                  s->trans_b ? s->k : s->n, &b) &&
        tune_make(q, s, s->result, s->m, s->n, &d)) {
        ssq_gemm_args g = SSQ_GEMM_INIT;
        g.a = a;
        g.b = b;
        g.d = d;
        g.trans_a = s->trans_a;
        g.trans_b = s->trans_b;
        g.flags = tf32 ? SSQ_GEMM_ALLOW_TF32 : 0;
        st = ssq_gemm_tune(q, &g, found);
    }
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&d);
    return st;
}

/* Print a result. The algorithm is a word of 16 digits, because its name has
 * 64 bits. */
static void print_found(const struct options *o, const ssq_gemm_tuning *t,
                        bool first)
{
    char algorithm[32] = "";
    if (t->algorithm != 0)
        snprintf(algorithm, sizeof(algorithm), "%016" PRIx64, t->algorithm);
    if (o->json) {
        printf("%s\n  {\"m\": %" PRId64 ", \"n\": %" PRId64 ", \"k\": %" PRId64
               ", \"batch\": %" PRId64 ", \"a\": \"%s\", \"d\": \"%s\", "
               "\"trans_a\": %s, \"trans_b\": %s, \"tf32\": %s, "
               "\"implementation\": \"%s\", \"algorithm\": \"%s\", "
               "\"seconds\": %.6g, \"rule_seconds\": %.6g, \"tried\": %u, "
               "\"kept\": %s}",
               first ? "" : ",", t->m, t->n, t->k, t->batch,
               ssq_dtype_name(t->a), ssq_dtype_name(t->d),
               t->trans_a ? "true" : "false", t->trans_b ? "true" : "false",
               t->tf32 ? "true" : "false", t->implementation, algorithm,
               t->seconds, t->rule_seconds, (unsigned)t->tried,
               t->kept ? "true" : "false");
        return;
    }
    printf("%" PRId64 " x %" PRId64 " x %" PRId64 " batch %" PRId64
           " %s to %s %c%c%s: %s%s%s, %.4g ms, by the rules %.4g ms, of %u%s\n",
           t->m, t->n, t->k, t->batch, ssq_dtype_name(t->a),
           ssq_dtype_name(t->d), t->trans_a ? 't' : 'n', t->trans_b ? 't' : 'n',
           t->tf32 ? " TF32" : "", t->implementation,
           algorithm[0] == '\0' ? "" : " ", algorithm, 1e3 * t->seconds,
           1e3 * t->rule_seconds, (unsigned)t->tried,
           t->kept ? "" : "; it is not kept");
}

/* Get shape i of the shapes to be tuned. Returns false if there are fewer. */
static bool tune_shape_of(const struct options *o, const struct tune_shape *all,
                          size_t i, struct tune_shape *s)
{
    *s = *all;
    if (o->words > 0)
        return i < o->words && tune_read_sizes(o->word[i], s);
    const struct gemm_case *g = gemm_timed(i);
    if (g == NULL)
        return false;
    s->m = g->m;
    s->n = g->n;
    s->k = g->k;
    if (o->types == NULL) {
        s->factor = g->a;
        s->result = g->d;
    }
    return true;
}

/* Tune every shape. If one fails, the others follow. */
static int tune_all(const struct options *o, const struct tune_shape *all,
                    ssq_queue *q)
{
    struct tune_shape s;
    struct tool_progress p;
    size_t total = 0;
    bool first = true, lost = false;
    int code = EXIT_FINE;
    while (tune_shape_of(o, all, total, &s))
        total++;
    progress_begin(&p, "tune", total, false);
    for (size_t i = 0; tune_shape_of(o, all, i, &s); i++) {
        ssq_gemm_tuning found = SSQ_GEMM_TUNING_INIT;
        char what[96];
        snprintf(what, sizeof(what), "%" PRId64 " x %" PRId64 " x %" PRId64,
                 s.m, s.n, s.k);
        progress_at(&p, i, 0.0, what);
        ssq_status st = tune(q, &s, o->tf32, &found);
        progress_clear(&p);
        if (st != SSQ_OK) {
            code = complain("tune");
            continue;
        }
        print_found(o, &found, first);
        first = false;
        fflush(stdout); /* the next one takes a while */
        if (!found.kept)
            code = EXIT_FAILED;
        lost = lost || !found.kept;
    }
    if (lost)
        fprintf(stderr,
                "sesqui: tune: %s cannot be written, or has all the shapes "
                "that it can\n",
                ssq_gemm_tuning_path(ssq_queue_device(q)));
    return code;
}

static int clear(ssq_device *d)
{
    const char *path = ssq_gemm_tuning_path(d);
    if (ssq_gemm_tuning_clear(d) != SSQ_OK)
        return complain("tune");
    printf("nothing is kept in %s\n", path);
    return EXIT_FINE;
}

int command_tune(const struct options *o)
{
    struct tune_shape all;
    ssq_device *d = NULL;
    ssq_queue *q = NULL;
    int code = o->train ? EXIT_FINE : read_options(o, &all);
    if (code != EXIT_FINE)
        return code;
    if (!drivers_try(o->device, NULL) && o->device != NULL)
        return EXIT_FAILED;
    ssq_status st =
        ssq_device_open(o->device == NULL ? "auto" : o->device, NULL, &d);
    if (st == SSQ_OK)
        st = ssq_queue_create(d, NULL, &q);
    if (st != SSQ_OK) {
        complain("tune");
        code = st == SSQ_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
    } else if (o->train) {
        code = throughput_tune(o, q);
    } else if (ssq_gemm_tuning_path(d)[0] == '\0') {
        fprintf(stderr, "sesqui: tune: there is no cache to keep it in, or the "
                        "device has one implementation\n");
        code = EXIT_FAILED;
    } else if (o->clear) {
        code = clear(d);
    } else {
        if (o->json)
            printf("[");
        code = tune_all(o, &all, q);
        printf("%s", o->json ? "\n]\n" : "");
    }
    ssq_queue_destroy(&q);
    ssq_device_close(&d);
    return code;
}
