/* SPDX-License-Identifier: Apache-2.0 */
/* window_test.c - the tables of ops that are split, again, with windows of
 * 1024 bytes. */
#include "lib/op/ops.h"
#include "tests/op/suite.h"
#include "tests/tap.h"

#include <string.h>

/* Ops that are split by themselves, and norm, which its function splits. */
static bool is_split(const char *op)
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
    return ops[i].walked != 0 || strcmp(op, "norm") == 0;
}

/* Only what has to be seen as a whole, or in chunks of 16384 elements, may be
 * left out, and what cpu has of its own for rows or many elements, of which no
 * window has enough: then the plan has to run. */
static bool may_skip(const struct suite *suite, const char *impl)
{
    static const char *const own[] = {"table", "dense", "extreme", "sum"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(impl, own[i]) == 0)
            return true;
    return strcmp(suite->op, "binary_backward") == 0 ||
           strcmp(suite->op, "argmax") == 0 || strcmp(suite->op, "norm") == 0;
}

static void report(void *user, const char *device, const char *impl,
                   const struct suite *suite, size_t i, const struct bed *b,
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

int main(void)
{
    setenv("SSQ_LIMIT_BINDING", "1024", 1);
    if (!tap_full())
        setenv("SSQ_TEST_STRIDE", "7", 0);
    for (size_t i = 0; suites[i] != NULL; i++) {
        struct suite suite = *suites[i];
        /* the core splits, whatever runs the parts: fewer cases for drivers;
         * 29 has no factor in common with any list that cases are made of */
        suite.stride = tap_full() ? 1 : 29;
        if (is_split(suite.op))
            suite_run(&suite, NULL, !tap_full(), report, NULL);
    }
    return tap_done(tap_full() ? 10000 : 1000);
}
