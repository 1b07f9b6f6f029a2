/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - what a run has been through, and a picture of it. */
#ifndef EXAMPLES_COMMON_CURVE_H
#define EXAMPLES_COMMON_CURVE_H

#include <stdbool.h>
#include <stddef.h>

/** Points, x rising. */
struct curve {
    double *x, *y; /* owned */
    size_t n, room;
};

/** false: no memory; said on standard error. */
bool curve_add(struct curve *c, double x, double y);
void curve_free(struct curve *c);

/** What is drawn of a run; empty curves are left out. */
struct history {
    const char *label; /* of the run */
    struct curve loss, accuracy, scale;
};
void history_free(struct history *h);

/** True if there can be such a file: asked before a run, not behind it. NULL:
 *  none is wanted. Says why not on standard error. */
bool plot_begin(const char *path);
/** Write an SVG with a panel each for the loss, the accuracy in percent and the
 *  loss scale (in powers of two) of n runs over their steps: axes with numbers,
 *  a grid, and a legend. Points that are not finite interrupt their line.
 *  @return false after saying on standard error why */
bool plot_write(const char *path, const char *title, const struct history *h,
                size_t n);

#endif
