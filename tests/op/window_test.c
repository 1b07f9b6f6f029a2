/* SPDX-License-Identifier: Apache-2.0 */
/* window_test.c - the tables of ops that are split, again, with windows of
 * 1024 bytes. */
#include "tests/op/suite.h"

#include "tests/tap.h"

extern const struct suite fill_suite, copy_suite, cast_suite;
extern const struct suite unary_suite, unary_backward_suite, binary_suite;
extern const struct suite binary_backward_suite, compare_suite, where_suite;
extern const struct suite scale_suite;

static const struct suite *const tables[] = {
    &fill_suite,           &copy_suite,
    &cast_suite,           &unary_suite,
    &unary_backward_suite, &binary_suite,
    &compare_suite,        &where_suite,
    &scale_suite,          &binary_backward_suite,
};

/* Only a sum too long for a window may be left out: its op cannot be split. */
static void report(void *user, const char *device, const char *impl,
                   const struct suite *suite, size_t i, const struct bed *b,
                   bool ok)
{
    (void)user;
    char text[256];
    suite->describe(i, text, sizeof(text));
    if (b->skipped && suite == &binary_backward_suite)
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
