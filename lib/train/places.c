/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - places of a training that only the program knows: epochs and
 * validation. */
#include "lib/tape/params.h"
#include "lib/train/trainer.h"

/* Train again after ssq_trainer_end. */
static ssq_status resume_training(ssq_trainer *t)
{
    ssq_status st = params_to_policy(t->params, t->queue, t->optimizer);
    if (st != SSQ_OK)
        return st;
    t->ended = false;
    t->broadcast =
        0; /* ranks may have written different values since the end */
    return SSQ_OK;
}

ssq_status trainer_begin_training(ssq_trainer *t)
{
    if (t->begun)
        return SSQ_OK;
    ssq_status st = trainer_check_not_in_hook(t, "trainer_notify");
    if (st == SSQ_OK && t->ended)
        st = resume_training(t);
    if (st == SSQ_OK)
        st = trainer_call_hooks_outside(t, SSQ_PLACE_TRAIN_BEGIN);
    t->begun = st == SSQ_OK;
    return st;
}

/* A place, and the state that it changes. */
struct place_change {
    const char *name; /* of the epoch or validation; NULL: other */
    bool *begun;
    bool begins;
};

static struct place_change place_change_of(ssq_trainer *t,
                                           ssq_trainer_place place)
{
    switch (place) {
    case SSQ_PLACE_EPOCH_BEGIN:
        return (struct place_change){"an epoch", &t->epoch, true};
    case SSQ_PLACE_EPOCH_END:
        return (struct place_change){"an epoch", &t->epoch, false};
    case SSQ_PLACE_VALIDATE_BEGIN:
        return (struct place_change){"a validation", &t->validating, true};
    case SSQ_PLACE_VALIDATE_END:
        return (struct place_change){"a validation", &t->validating, false};
    default:
        return (struct place_change){NULL, NULL, false};
    }
}

ssq_status ssq_trainer_notify(ssq_trainer *trainer, ssq_trainer_place place)
{
    static const char what[] = "trainer_notify";
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    const struct place_change m = place_change_of(trainer, place);
    if (m.name == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: place is %d, expected SSQ_PLACE_EPOCH_BEGIN, "
                         "_EPOCH_END, _VALIDATE_BEGIN or _VALIDATE_END: the "
                         "trainer itself calls hooks at the others",
                         what, (int)place);
    if (trainer->notifying)
        return error_set(SSQ_ERR_INVALID,
                         "%s: called by a hook, which trainer_notify calls",
                         what);
    if (*m.begun == m.begins)
        return error_set(SSQ_ERR_INVALID, "%s: %s %s", what, m.name,
                         m.begins ? "has begun, and not ended"
                                  : "ends that has not begun");
    if (place == SSQ_PLACE_EPOCH_END && trainer->validating)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the epoch ends within a validation", what);
    ssq_status st = place == SSQ_PLACE_EPOCH_BEGIN
                        ? trainer_begin_training(trainer)
                        : SSQ_OK;
    if (st != SSQ_OK)
        return st;
    trainer->notifying = true;
    st = trainer_call_hooks(trainer, place, NULL);
    trainer->notifying = false;
    if (st == SSQ_OK)
        *m.begun = m.begins;
    return st;
}
