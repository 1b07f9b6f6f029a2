/* SPDX-License-Identifier: Apache-2.0 */
/* window_test.c - the tables of ops that are split, again, with windows of
 * 1024 bytes. */
#include "tests/op/suite.h"

#include "tests/tap.h"

extern const struct suite fill_suite, copy_suite, cast_suite;
extern const struct suite unary_suite, unary_backward_suite, binary_suite;
extern const struct suite binary_backward_suite, compare_suite, where_suite;
extern const struct suite scale_suite, random_suite, dropout_suite, init_suite;
extern const struct suite reduce_suite, reduce_backward_suite, argmax_suite;
extern const struct suite l2_norm_suite;

static const struct suite *const tables[] = {
    &fill_suite,
    &copy_suite,
    &cast_suite,
    &unary_suite,
    &unary_backward_suite,
    &binary_suite,
    &compare_suite,
    &where_suite,
    &scale_suite,
    &binary_backward_suite,
    &random_suite,
    &dropout_suite,
    &init_suite,
    &reduce_suite,
    &reduce_backward_suite,
    &argmax_suite,
    &l2_norm_suite,
};

/* Only what has to be seen as a whole, or in chunks of 16384 elements, may be
 * left out. */
static bool may_skip(const struct suite *suite)
{
    return suite == &binary_backward_suite || suite == &argmax_suite ||
           suite == &l2_norm_suite;
}

static void report(void *user, const char *device, const char *impl,
                   const struct suite *suite, size_t i, const struct bed *b,
                   bool ok)
{
    (void)user;
    char text[256];
    suite->describe(i, text, sizeof(text));
    if (b->skipped && may_skip(suite))
        tap_skip(b->text, "%s/%s: %s, 1024 bytes", device, impl, text);
    else if (!tap_ok(ok && !b->skipped, "%s/%s: %s, 1024 bytes", device, impl,
                     text))
        tap_diag("%s", b->text);
}

int main(void)
{
    setenv("SSQ_LIMIT_BINDING", "1024", 1);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        suite_run(tables[i], NULL, report, NULL);
    return tap_done(5600);
}
