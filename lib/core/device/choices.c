/* SPDX-License-Identifier: Apache-2.0 */
/* choices.c - texts about the library, the device, its driver or CPU, its
 * matmuls, and the implementations that are pinned. */
#include "lib/core/device/choices.h"

#include "lib/core/queue/dispatch.h"
#include "lib/core/device/tuning.h"

#include <stdio.h>
#include <string.h>

const char *const choice_names[CHOICES] = {"library", "device", "driver",
                                           "gemm", "pins"};

/* Append first and text; omit first if c->text is empty. Cut the text if
 * c->text is full. */
static void choices_add(struct choices *c, const char *first, const char *text)
{
    size_t n = strlen(c->text);
    snprintf(c->text + n, sizeof(c->text) - n, "%s%s", n == 0 ? "" : first,
             text);
}

/* A CPU with other instructions, or another version of a driver, may round
 * differently. */
static void add_driver(const ssq_device *d, struct choices *c)
{
    if (d->backend->identify != NULL)
        d->backend->identify(d->impl, c->text, sizeof(c->text));
    else
        choices_add(c, "", d->props.description);
}

/* The list of implementations distinguishes versions of the library whose rules
 * choose from different lists. */
static void add_gemm(const ssq_device *d, struct choices *c)
{
    struct choice one;
    char text[64];
    size_t n;
    for (unsigned i = 0; choice_nth(d, OP_gemm, i, &one); i++)
        choices_add(c, " ", one.name);
    uint64_t digest = tunings_digest(d, &n);
    if (n > 0) {
        snprintf(text, sizeof(text), "tuned for %zu shapes (%016llx)", n,
                 (unsigned long long)digest);
        choices_add(c, "; ", text);
    }
    if (d->options.allow_tf32)
        choices_add(c, "; ", "TF32");
    if (d->options.allow_f16_three)
        choices_add(c, "; ", "f16 by three products");
}

static void add_pins(const ssq_device *d, struct choices *c)
{
    for (unsigned i = 0; i < OP_COUNT; i++)
        if (d->pins[i][0] != '\0') {
            choices_add(c, ",", op_name((enum op_id)i));
            choices_add(c, ":", d->pins[i]);
        }
    if (c->text[0] == '\0')
        choices_add(c, "", "none");
}

void choices_of(const ssq_device *d, size_t i, struct choices *c)
{
    *c = (struct choices){.name = choice_names[i]};
    switch (i) {
    case 0:
        choices_add(c, "", ssq_version());
        break;
    case 1:
        choices_add(c, "", d->props.name);
        break;
    case 2:
        add_driver(d, c);
        break;
    case 3:
        add_gemm(d, c);
        break;
    default:
        add_pins(d, c);
    }
    for (char *at = c->text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = ' ';
}
