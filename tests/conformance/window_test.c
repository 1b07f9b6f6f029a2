/* SPDX-License-Identifier: Apache-2.0 */
/* window_test.c - the tables of ops that are split, again, with windows of
 * 1024 bytes; and those whose plans make the windows, of 4096 bytes, bit for
 * bit as without a limit. */
#include "lib/core/module/ops.h"
#include "conformance/suite.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

/* Split by the core, by plans, or refused if it is large. */
enum split { SPLIT_NOT, SPLIT_BY_CORE, SPLIT_BY_PLAN };

/* Their functions split them. */
static bool splits_itself(const char *op)
{
    static const char *const ops[] = {"norm", "channel_norm",
                                      "channel_norm_backward"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

static enum split split_of(const char *op)
{
    static const struct {
        const char *name;
        unsigned walked;
    } ops[] = {
#define X(NAME, WALKED, ...) {#NAME, WALKED},
        SSQ_OPS(X)
#undef X
    };
    size_t i = 0;
    while (strcmp(ops[i].name, op) != 0)
        i++;
    if (ops[i].walked == BY_PLAN)
        return SPLIT_BY_PLAN;
    return ops[i].walked != 0 || splits_itself(op) ? SPLIT_BY_CORE : SPLIT_NOT;
}

/* Only what must be seen as a whole, or in chunks of 16384 elements, may be
 * left out, and cpu's own implementations for rows or many elements, of which
 * no window has enough: then the plan has to run. */
static bool may_skip(const struct suite *suite, const char *impl)
{
    static const char *const own[] = {"table", "dense", "extreme", "sum"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(impl, own[i]) == 0)
            return true;
    return strcmp(suite->op, "binary_backward") == 0 ||
           strcmp(suite->op, "argmax") == 0 || splits_itself(suite->op);
}

static void report(void *user, const char *device, const char *impl,
                   const struct suite *suite, size_t i, const struct harness *b,
                   bool ok)
{
    (void)user;
    char text[256];
    if (b->idle || (b->skipped && may_skip(suite, impl)))
        return; /* the op cannot be split: not a test */
    suite->describe(i, text, sizeof(text));
    if (!tap_ok(ok && !b->skipped, "%s/%s: %s, 1024 bytes", device, impl, text))
        tap_diag("%s", b->text);
}

/* ---- by plans ---- */

#define PLAN_BINDING "4096"

/* The results of the cases of a suite without a limit. */
struct window_outcome {
    char device[32], impl[32];
    size_t i;
    uint64_t digest;
    bool ok, skipped;
};

struct outcomes {
    struct window_outcome *at;
    size_t n, capacity;
    size_t same, refused, differ;
};

static void keep(void *user, const char *device, const char *impl,
                 const struct suite *suite, size_t i, const struct harness *b,
                 bool ok)
{
    struct outcomes *all = user;
    (void)suite;
    if (b->idle)
        return;
    if (all->n == all->capacity) {
        all->capacity = all->capacity == 0 ? 1024 : 2 * all->capacity;
        all->at = realloc(all->at, all->capacity * sizeof(*all->at));
        if (all->at == NULL)
            tap_bail("no memory for %zu outcomes", all->capacity);
    }
    struct window_outcome *o = &all->at[all->n++];
    *o = (struct window_outcome){
        .i = i, .digest = b->digest, .ok = ok, .skipped = b->skipped};
    snprintf(o->device, sizeof(o->device), "%s", device);
    snprintf(o->impl, sizeof(o->impl), "%s", impl);
}

static const struct window_outcome *
find(const struct outcomes *all, const char *device, const char *impl, size_t i)
{
    for (size_t k = 0; k < all->n; k++)
        if (all->at[k].i == i && strcmp(all->at[k].device, device) == 0 &&
            strcmp(all->at[k].impl, impl) == 0)
            return &all->at[k];
    return NULL;
}

/* A refusal names the operand or the scratch, its bytes and the limit. What a
 * convolution gathers has to fit scratch, or the other plan has the op. */
static bool is_refusal(const char *text)
{
    if (strstr(text, "too many to gather") != NULL)
        return true;
    bool named =
        strstr(text, "operand") != NULL || strstr(text, "scratch") != NULL;
    return named && strstr(text, "bytes") != NULL &&
           strstr(text, PLAN_BINDING) != NULL;
}

/* Is this the sum over a batch that may be summed by windows, with other bits?
 * The case itself compares with the bound. */
static bool may_differ(const struct suite *suite, const char *impl)
{
    bool gradients = strcmp(suite->name, "conv_backward") == 0 ||
                     strcmp(suite->name, "conv_transpose") == 0;
    return gradients && strcmp(impl, "direct") == 0;
}

/* Within the limit a case has the bits that it has without, or is refused. */
static void compare(void *user, const char *device, const char *impl,
                    const struct suite *suite, size_t i,
                    const struct harness *b, bool ok)
{
    struct outcomes *all = user;
    const struct window_outcome *o = find(all, device, impl, i);
    char text[256];
    if (b->idle || o == NULL || o->skipped)
        return;
    if ((b->skipped || !ok) && is_refusal(b->text)) {
        all->refused++;
        return;
    }
    suite->describe(i, text, sizeof(text));
    bool same = !b->skipped && o->ok == ok &&
                (o->digest == b->digest || (ok && may_differ(suite, impl)));
    all->same += same;
    if (!tap_ok(same, "%s/%s: %s, " PLAN_BINDING " bytes: the same bits",
                device, impl, text))
        tap_diag("%s", b->text);
}

/* Tables of refusals, and one that takes long and adds little to gemm's. */
static bool left_out(const char *name)
{
    const char *misuse = strstr(name, "_misuse");
    return misuse != NULL || strcmp(name, "gemm_explain") == 0 ||
           (strcmp(name, "gemm_shapes") == 0 && !tap_full());
}

static void run_by_plan(struct suite *suite)
{
    if (left_out(suite->name))
        return;
    struct outcomes all = {.at = NULL};
    /* short tables whole; 29 and 31 have no factor in common with any list */
    bool whole = tap_full() || suite->n < 30;
    suite->stride = whole ? 1 : 29;
    setenv("SSQ_TEST_STRIDE", whole ? "1" : "31", 1);
    unsetenv("SSQ_LIMIT_BINDING");
    suite_run(suite, NULL, !tap_full(), keep, &all);
    setenv("SSQ_LIMIT_BINDING", PLAN_BINDING, 1);
    suite_run(suite, NULL, !tap_full(), compare, &all);
    tap_ok(all.same > all.refused,
           "%s: of its cases %zu have the same bits, %zu are refused",
           suite->name, all.same, all.refused);
    free(all.at);
}

/* drivers: drivers run cases, too. */
static void run_by_core(struct suite *suite, bool drivers)
{
    /* The core splits an op in the same way for all devices. 43 has no factor
     * in common with any list that cases are made of. */
    suite->stride = tap_full() ? 1 : drivers ? 43 : SUITE_NO_DRIVER;
    setenv("SSQ_TEST_STRIDE", tap_full() ? "1" : "7", 1);
    setenv("SSQ_LIMIT_BINDING", "1024", 1);
    suite_run(suite, NULL, !tap_full(), report, NULL);
}

int main(void)
{
    for (size_t i = 0; suites[i] != NULL; i++) {
        struct suite suite = *suites[i];
        enum split split = split_of(suite.op);
        if (split == SPLIT_BY_CORE)
            run_by_core(&suite, i % 3 == 0); /* drivers compile for each */
        else if (split == SPLIT_BY_PLAN)
            run_by_plan(&suite);
    }
    suite_end();
    return tap_done(tap_full() ? 10000 : 1000);
}
