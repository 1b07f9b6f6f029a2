/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy_edges.c - cross-entropy against torch's own numbers, and what
 * its contract says of edges. */
#include "conformance/loss/cross_entropy.h"

#include "conformance/bounds_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- torch's own numbers ---- */

/* torch 2.15.0, torch.nn.functional.cross_entropy in float64 on these logits,
 * targets {2, 0, 1} or (ignore) {2, -100, 1}, and weights. */
static const double torch_x[] = {0.5,  -1.25, 2.0,  0.75, 1.5, 0.0,
                                 -0.5, 3.0,   -2.0, 0.25, 1.0, -0.125};
static const double torch_w[] = {0.5, 2.0, 1.25, 0.75};
static const double torch_p[] = {0.5,   0.25, 0.25, 0.0, 0.0, 0.125,
                                 0.375, 0.5,  1.0,  0.0, 0.0, 0.0};
static const struct {
    const char *text;
    bool ignore, weighted, soft;
    double smoothing;
    ssq_reduction reduction;
    double loss[3], gradient[12];
} torch[] = {
    {"mean",
     false,
     false,
     false,
     0.0,
     SSQ_REDUCTION_MEAN,
     {1.1884810071148262},
     {0.048034280433328275, 0.0083471063317040115, -0.11805862371373244,
      0.061677236948700156, -0.27625721787267699, 0.012735402783386522,
      0.0077244122519135351, 0.25579740283737695, 0.0089861569980681476,
      -0.24807504955161819, 0.18049178818225903, 0.058597104371291037}},
    {"mean, weights, one ignored",
     true,
     true,
     false,
     0.0,
     SSQ_REDUCTION_MEAN,
     {1.0072155354122043},
     {0.055424169730763397, 0.0096312765365815529, -0.13622148890046051,
      0.071166042633115573, 0, 0, 0, 0, 0.016589828304125812,
      -0.45798470686452597, 0.33321560895186286, 0.1081792696085373}},
    {"mean, weights, one ignored, smoothing 0.1",
     true,
     true,
     false,
     0.1,
     SSQ_REDUCTION_MEAN,
     {1.0354119507295432},
     {0.051023774187301911, -0.0058496516133996496, -0.10985927401145593,
      0.064685151437553642, 0, 0, 0, 0, 0.012017869469666461,
      -0.41871710670843371, 0.30902204144483419, 0.097677195793933011}},
    {"none, weights, one ignored, smoothing 0.25",
     true,
     true,
     false,
     0.25,
     SSQ_REDUCTION_NONE,
     {1.0445904464356937, 0.0, 2.4579559181073485},
     {0.14437533783435649, -0.094480892474707215, -0.22852684295333422,
      0.17863239759368496, 0, 0, 0, 0, 0.016769776458426668,
      -1.1694010460414599, 0.88637799309894683, 0.26625327648408648}},
    {"sum, weights",
     false,
     true,
     false,
     0.0,
     SSQ_REDUCTION_SUM,
     {4.155829117249381},
     {0.18012855162498104, 0.031301648743890041, -0.44271983892649663,
      0.2312896385576256, -0.41438582680901548, 0.019103104175079783,
      0.011586618377870303, 0.38369610425606543, 0.053916941988408892,
      -1.4884502973097091, 1.0829507290935543, 0.35158262622774622}},
    {"mean, weights, probabilities, smoothing 0.1",
     false,
     true,
     true,
     0.1,
     SSQ_REDUCTION_MEAN,
     {2.327743937318835},
     {-0.027830029453547074, -0.157745696774658, 0.12590817923928177,
      0.059667546988923285, 0.05843869747924077, -0.077697521738639586,
      -0.14256895197784902, 0.16182777623724787, -0.14911195335525335,
      0.031291117960548093, 0.091109964185854042, 0.026710871208851208}},
    {"none, probabilities",
     false,
     false,
     true,
     0.0,
     SSQ_REDUCTION_NONE,
     {1.9997280586139023, 1.9522572543194325, 3.613457708411143},
     {-0.35589715870001515, -0.22495868100488797, 0.39582412885880269,
      0.18503171084610048, 0.17122834638196904, -0.08679379164984044,
      -0.35182676324425938, 0.26739220851213086, -0.97304152900579555,
      0.25577485134514538, 0.54147536454677714, 0.17579131311387311}},
};
#define TORCH (sizeof(torch) / sizeof(torch[0]))

static bool run_torch(struct harness *b, size_t k)
{
    const int64_t shape[] = {3, 4};
    const double target[] = {2, torch[k].ignore ? -100 : 0, 1};
    struct operand x, t, p, w, loss, dx;
    harness_values(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, torch_x);
    harness_values(b, &t, SSQ_I32, 1, shape, LAYOUT_DENSE, target);
    harness_values(b, &p, SSQ_F32, 2, shape, LAYOUT_DENSE, torch_p);
    harness_values(b, &w, SSQ_F32, 1, shape + 1, LAYOUT_DENSE, torch_w);
    bool each = torch[k].reduction == SSQ_REDUCTION_NONE;
    harness_output(b, &loss, SSQ_F32, each ? 1 : 0, shape, LAYOUT_DENSE);
    harness_output(b, &dx, SSQ_F32, 2, shape, LAYOUT_DENSE);
    ssq_cross_entropy_args a = SSQ_CROSS_ENTROPY_INIT;
    a.logits = x.t;
    if (torch[k].soft)
        a.target_prob = p.t;
    else
        a.target = t.t;
    a.weight = torch[k].weighted ? w.t : NULL;
    a.loss = loss.t;
    a.dlogits = dx.t;
    a.label_smoothing = torch[k].smoothing;
    a.reduction = torch[k].reduction;
    HARNESS_OP(b, ssq_cross_entropy(b->queue, &a));
    harness_read(b, &loss);
    harness_read(b, &dx);
    /* |t| <= 5, |log total| < 2, weights <= 2, sum |q| <= 4: m < 40 a row */
    return harness_bound1(b, &loss, torch[k].loss,
                          bound_mean_loss(4, 3, 120)) &&
           harness_bound1(b, &dx, torch[k].gradient, bound_chain(18, 40));
}

/* ---- edges ---- */

/* Ignored rows are not read: no NaN gets out. */
static bool run_ignored_nan(struct harness *b)
{
    const double nan = (double)NAN;
    const int64_t shape[] = {2, 3};
    const double v[] = {nan, nan, nan, 0, 0, 0}, target[] = {-100, 1};
    const double want_loss = log(3.0);
    const double want[] = {0, 0, 0, 1.0 / 3, -2.0 / 3, 1.0 / 3};
    struct operand x, t, loss, dx;
    harness_values(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, v);
    harness_values(b, &t, SSQ_I32, 1, shape, LAYOUT_DENSE, target);
    harness_output(b, &loss, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &dx, SSQ_F32, 2, shape, LAYOUT_DENSE);
    ssq_cross_entropy_args a = SSQ_CROSS_ENTROPY_INIT;
    a.logits = x.t;
    a.target = t.t;
    a.loss = loss.t;
    a.dlogits = dx.t;
    HARNESS_OP(b, ssq_cross_entropy(b->queue, &a));
    harness_read(b, &loss);
    harness_read(b, &dx);
    return harness_bound1(b, &loss, &want_loss, bound_mean_loss(3, 2, 3)) &&
           harness_bound1(b, &dx, want, bound_chain(16, 2));
}

/* Weights that add up to 0: as torch's nll_loss, NaN at the target (0 / 0),
 * still 0 elsewhere. */
static bool run_weightless(struct harness *b)
{
    const double nan = (double)NAN;
    const int64_t shape[] = {2, 3};
    const double target[] = {2, 1}, want[] = {0, 0, nan, 0, nan, 0};
    struct operand x, t, w, loss, dx;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_values(b, &t, SSQ_I32, 1, shape, LAYOUT_DENSE, target);
    harness_input(b, &w, SSQ_F32, 1, shape + 1, LAYOUT_DENSE, FILL_ZERO);
    harness_output(b, &loss, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &dx, SSQ_F32, 2, shape, LAYOUT_DENSE);
    ssq_nll_loss_args a = SSQ_NLL_LOSS_INIT;
    a.x = x.t;
    a.target = t.t;
    a.weight = w.t;
    a.loss = loss.t;
    a.dx = dx.t;
    HARNESS_OP(b, ssq_nll_loss(b->queue, &a));
    harness_read(b, &loss);
    harness_read(b, &dx);
    return harness_bound1(b, &loss, &nan, 0.0) &&
           harness_bound1(b, &dx, want, 0.0);
}

static bool ce_refused(struct harness *b, const ssq_cross_entropy_args *a,
                       const char *text)
{
    harness_refused(b, SSQ_ERR_INVALID, ssq_cross_entropy(b->queue, a));
    return strcmp(ssq_last_error(), text) == 0 ||
           harness_fail(b, "the text is: %s", ssq_last_error());
}

/* Refusals of target_prob; logits are probabilities of the right shape. */
static bool prob_refusals(struct harness *b, const ssq_cross_entropy_args *good,
                          ssq_tensor *logits)
{
    ssq_cross_entropy_args a = *good;
    a.target = NULL;
    a.target_prob = logits;
    a.ignore_index = 1;
    bool ok = ce_refused(b, &a,
                         "cross_entropy: ignore_index is 1 with target_prob, "
                         "which ignores no row");
    a = *good;
    a.target = NULL;
    a.target_prob = good->dlogits;
    return ok &&
           ce_refused(b, &a, "cross_entropy: dlogits overlaps target_prob");
}

static bool cross_entropy_edges_run_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3};
    struct operand x, t, t3, w, loss, dx;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &t, SSQ_I32, 1, shape, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &t3, SSQ_I32, 1, shape + 1, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &w, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_ONES);
    harness_output(b, &loss, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &dx, SSQ_F32, 2, shape, LAYOUT_DENSE);
    uint32_t before = loss.bits[0];
    const ssq_cross_entropy_args good = {.struct_size = sizeof(good),
                                         .logits = x.t,
                                         .target = t.t,
                                         .loss = loss.t,
                                         .dlogits = dx.t,
                                         .ignore_index = -100};
    ssq_cross_entropy_args a = good;
    a.target = NULL;
    bool ok = ce_refused(b, &a,
                         "cross_entropy: expected exactly one of target and "
                         "target_prob, none is given");
    a = good;
    a.target = t3.t;
    ok = ok &&
         ce_refused(b, &a,
                    "cross_entropy: target is [3], expected [2]: logits is "
                    "[2,3]");
    a = good;
    a.weight = w.t;
    ok = ok && ce_refused(b, &a, "cross_entropy: weight is [2], expected [3]");
    a = good;
    a.loss = a.dlogits = NULL;
    ok = ok &&
         ce_refused(b, &a, "cross_entropy: loss and dlogits are both NULL");
    a = good;
    a.label_smoothing = 1.5;
    ok = ok &&
         ce_refused(b, &a,
                    "cross_entropy: label_smoothing is 1.5, expected 0..1");
    a = good;
    a.reduction = (ssq_reduction)3;
    ok = ok && ce_refused(b, &a, "cross_entropy: 3 is not a reduction");
    a = good;
    a.reduction = SSQ_REDUCTION_NONE;
    ok = ok && ce_refused(b, &a, "cross_entropy: loss is [], expected [2]");
    a = good;
    a.dloss = w.t;
    ok = ok &&
         ce_refused(b, &a, "cross_entropy: dloss is [2], expected one element");
    ok = ok && prob_refusals(b, &good, x.t);
    harness_read(b, &loss);
    return ok && harness_bits(b, &loss, &before);
}

/* Probabilities of no classes, in memory of no bytes: as torch, no row counts,
 * and the mean is NaN. */
static bool run_no_classes(struct harness *b)
{
    const int64_t shape[] = {3, 0};
    struct operand loss;
    const double nan = (double)NAN;
    ssq_tensor *none = NULL;
    harness_output(b, &loss, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_leave(b);
    ssq_status st = ssq_tensor_create(b->device, SSQ_F32, 2, shape, &none);
    harness_enter(b);
    if (st != SSQ_OK)
        return harness_fail(b, "%s", ssq_last_error());
    HARNESS_OP(
        b, ssq_cross_entropy(b->queue, SSQ_CROSS_ENTROPY(.logits = none,
                                                         .target_prob = none,
                                                         .loss = loss.t)));
    harness_read(b, &loss);
    ssq_tensor_destroy(&none);
    return harness_bound1(b, &loss, &nan, 0.0);
}

void cross_entropy_edge_text(size_t i, char *text, size_t bytes)
{
    static const char *const words[] = {
        "cross_entropy does not read ignored rows of NaN",
        "nll_loss with weights that add up to 0 is NaN at the targets alone",
        "cross_entropy refuses wrong arguments",
        "cross_entropy of probabilities of no classes is NaN"};
    if (i < TORCH)
        snprintf(text, bytes, "cross_entropy as torch: %s", torch[i].text);
    else
        snprintf(text, bytes, "%s", words[i - TORCH]);
}

bool cross_entropy_edge(struct harness *b, size_t i)
{
    _Static_assert(TORCH + 4 == CROSS_ENTROPY_EDGES, "all edges are counted");
    if (i < TORCH)
        return run_torch(b, i);
    if (i == TORCH)
        return run_ignored_nan(b);
    if (i == TORCH + 1)
        return run_weightless(b);
    return i == TORCH + 2 ? cross_entropy_edges_run_refusals(b)
                          : run_no_classes(b);
}
