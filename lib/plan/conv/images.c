/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - convolutions of more images than fit into a launch. */
#include "lib/plan/conv/conv.h"

const struct window_cut conv_images = {.walked = 5, .dims = 1};

/* Context of images_window(). */
struct conv_images {
    void (*each)(struct plan *p, const struct conv_op *op);
};

static void images_window(struct plan *p, const struct op *some, void *user)
{
    const struct conv_images *c = user;
    struct conv_op part = *(const struct conv_op *)some;
    part.n = part.image.shape[0];
    c->each(p, &part);
}

void conv_windows(struct plan *p, const struct conv_op *op,
                  void (*each)(struct plan *p, const struct conv_op *op))
{
    struct conv_images c = {each};
    struct conv_op part = *op;
    if (op->kind == CONV_WEIGHT)
        each(p, op);
    else
        plan_windows(p, &part.op, &conv_images, images_window, &c);
}
