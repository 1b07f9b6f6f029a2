/* SPDX-License-Identifier: Apache-2.0 */
/* losses.c - mean losses and accuracies of passes, to show to the user.
 *
 * A window is the set of passes since the previous window was taken.
 * ssq_trainer_loss() takes a window and waits for it. ssq_trainer_poll() sends
 * the window's sums to the host and begins another window. */
#include "lib/amp/common/readback.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/tape.h"
#include "lib/train/trainer.h"

#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>
#include <sesqui/ops/metrics.h>

#include <math.h>
#include <string.h>

/* Words of the sums: the f32 sum of losses, the f32 sum of accuracies. */
enum { LOSSES, ACCURACIES, MAGIC, WORDS };
#define MAGIC_VALUE 0x6c6f7373u

static ssq_status create_sum(const ssq_tensor *words, size_t word,
                             ssq_tensor **tensor)
{
    const struct view *v = &words->view;
    return ssq_tensor_from_buffer(v->buffer, SSQ_F32, 0, NULL, NULL,
                                  v->offset + word * sizeof(uint32_t), tensor);
}

ssq_status trainer_create_sums(ssq_trainer *t)
{
    const uint32_t words[WORDS] = {[MAGIC] = MAGIC_VALUE};
    const int64_t n = WORDS;
    ssq_device *device = t->queue->device;
    ssq_status st = tensor_create(device, SSQ_I32, 1, &n, &t->sums);
    if (st == SSQ_OK)
        st = queue_upload_now(t->queue, &t->sums->view, words, sizeof(words));
    if (st == SSQ_OK)
        st = create_sum(t->sums, LOSSES, &t->sum_loss);
    if (st == SSQ_OK)
        st = create_sum(t->sums, ACCURACIES, &t->sum_accuracy);
    if (st == SSQ_OK && t->accuracy)
        st = tensor_create(device, SSQ_F32, 0, NULL, &t->pass_accuracy);
    if (st != SSQ_OK)
        return st;
    t->readback = readback_create(words, WORDS, MAGIC);
    return t->readback == NULL ? SSQ_ERR_NOMEM : SSQ_OK;
}

void trainer_free_losses(ssq_trainer *t)
{
    ssq_tensor_destroy(&t->sum_loss);
    ssq_tensor_destroy(&t->sum_accuracy);
    ssq_tensor_destroy(&t->pass_accuracy);
    ssq_tensor_destroy(&t->sums);
    readback_put(t->readback);
}

void trainer_drop_nan_losses(ssq_trainer *t)
{
    if (!labels_take_nan(t->labels))
        return;
    t->window = (struct window){0};
    t->sent.losses = 0;
}

/* ---- a pass ---- */

/* If a pass has several losses, the last one counts. */
ssq_status trainer_compute_accuracy(ssq_trainer *t, const ssq_tensor *x,
                                    const ssq_tensor *target,
                                    int64_t ignore_index)
{
    if (!t->accuracy)
        return SSQ_OK;
    ssq_status st = ssq_top_k_accuracy(
        t->queue, SSQ_TOP_K_ACCURACY(.logits = x, .target = target,
                                     .accuracy = t->pass_accuracy,
                                     .ignore_index = ignore_index));
    t->has_accuracy = st == SSQ_OK;
    return st;
}

/* Add x to a sum of n values. The first value of a window overwrites the
 * sum. */
static ssq_status losses_add(const ssq_trainer *t, const ssq_tensor *x,
                             const ssq_tensor *to, uint32_t n)
{
    return n == 0 ? ssq_cast(t->queue, SSQ_CAST(.x = x, .y = to))
                  : ssq_add(t->queue, SSQ_ADD(.a = to, .b = x, .y = to));
}

ssq_status trainer_add_loss(ssq_trainer *t, ssq_var loss)
{
    ssq_tensor x = value_of(t->tape, loss.id)->is.tensor;
    x.view.rank = 0;
    trainer_drop_nan_losses(t);
    ssq_status st = losses_add(t, &x, t->sum_loss, t->window.losses);
    return st == SSQ_OK && t->has_accuracy
               ? losses_add(t, t->pass_accuracy, t->sum_accuracy,
                            t->window.accuracies)
               : st;
}

void trainer_count_loss(ssq_trainer *t)
{
    t->window.losses++;
    t->window.accuracies += t->has_accuracy;
}

/* ---- to the host ---- */

static double mean_of(uint32_t bits, uint32_t n)
{
    float sum;
    memcpy(&sum, &bits, sizeof(sum));
    return n > 0 ? (double)sum / n : (double)NAN;
}

ssq_status ssq_trainer_loss(ssq_trainer *trainer, double *mean)
{
    static const char what[] = "trainer_loss";
    if (trainer == NULL || mean == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         trainer == NULL ? "trainer" : "mean");
    uint32_t sum = 0;
    ssq_status st = queue_check(trainer->queue, what);
    if (st != SSQ_OK)
        return st;
    st = labels_send(trainer->labels, trainer->queue);
    if (st == SSQ_OK && trainer->window.losses > 0)
        st = ssq_tensor_read(trainer->queue, trainer->sum_loss, &sum,
                             sizeof(sum), SSQ_F32);
    ssq_status synced = queue_wait(trainer->queue);
    if (st == SSQ_OK)
        st = synced;
    if (st == SSQ_OK)
        st = labels_get_error(trainer->labels);
    trainer_drop_nan_losses(trainer);
    if (st != SSQ_OK)
        return st;
    *mean = mean_of(sum, trainer->window.losses);
    trainer->window = (struct window){0};
    return SSQ_OK;
}

/* Fill in *p from the window that was sent, if it has arrived. */
static void losses_receive(ssq_trainer *t, ssq_trainer_progress *p)
{
    uint32_t words[WORDS];
    if (t->sent.losses == 0 ||
        readback_read(t->readback, words) < t->sent_number)
        return;
    p->passes = t->sent.losses;
    p->steps = t->sent.steps;
    p->loss = mean_of(words[LOSSES], t->sent.losses);
    p->accuracy = mean_of(words[ACCURACIES], t->sent.accuracies);
    t->sent.losses = 0;
}

/* Send the current window, unless another one is still in flight. */
static ssq_status losses_send(ssq_trainer *t)
{
    if (t->sent.losses > 0 || t->window.losses == 0)
        return SSQ_OK;
    ssq_status st = readback_enqueue(t->readback, t->queue, NULL, t->sums);
    if (st != SSQ_OK)
        return st;
    t->sent = t->window;
    t->sent.steps = t->steps;
    t->sent_number = readback_enqueued(t->readback);
    t->window = (struct window){0};
    return SSQ_OK;
}

static ssq_status check_poll(const ssq_trainer *t,
                             const ssq_trainer_progress *p)
{
    static const char what[] = "trainer_poll";
    if (t == NULL || p == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         t == NULL ? "trainer" : "progress");
    if (p->struct_size != sizeof(*p))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         p->struct_size, sizeof(*p));
    ssq_status st = queue_check(t->queue, what);
    return st == SSQ_OK ? queue_check_runs(t->queue, what) : st;
}

ssq_status ssq_trainer_poll(ssq_trainer *trainer,
                            ssq_trainer_progress *progress)
{
    ssq_trainer_progress now = SSQ_TRAINER_PROGRESS_INIT;
    ssq_status st = check_poll(trainer, progress);
    if (st == SSQ_OK)
        st = labels_send(trainer->labels, trainer->queue);
    if (st == SSQ_OK)
        st = labels_get_error(trainer->labels);
    if (st != SSQ_OK)
        return st;
    trainer_drop_nan_losses(trainer);
    now.loss = now.accuracy = (double)NAN;
    losses_receive(trainer, &now);
    bool arrived = now.passes > 0;
    st = losses_send(trainer);
    if (st == SSQ_OK && !arrived)
        losses_receive(trainer, &now); /* it arrives immediately if the device
                                   is the CPU */
    *progress = now; /* also after an error: it has arrived only once */
    return st;
}

uint64_t ssq_trainer_steps(const ssq_trainer *trainer)
{
    return trainer == NULL ? 0 : trainer->steps;
}
