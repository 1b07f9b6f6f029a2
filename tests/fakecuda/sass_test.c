/* SPDX-License-Identifier: Apache-2.0 */
/* sass_test.c - which machine code a GPU is offered. */
#include "backends/cuda/sass.h"
#include "tests/tap.h"

static const uint32_t none[] = {0};
static const uint32_t some[] = {75, 80, 86, 90, 120, 0};

static void test(const uint32_t *archs, int capability, int code)
{
    int i = sass_for(archs, capability);
    int got = i < 0 ? 0 : (int)archs[i];

    tap_ok(got == code, "compute capability %d of %s: code of %d, was %d",
           capability, archs == none ? "none" : "75, 80, 86, 90, 120", code,
           got);
}

int main(void)
{
    test(none, 80, 0);
    test(some, 70, 0); /* 7.5 is later */
    test(some, 75, 75);
    test(some, 80, 80);
    test(some, 86, 86);
    test(some, 87, 86);
    test(some, 89, 86); /* the best, not the first */
    test(some, 90, 90);
    test(some, 100, 0); /* of another major version */
    test(some, 120, 120);
    test(some, 121, 120);
    return tap_done(11);
}
