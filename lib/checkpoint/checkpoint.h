/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the parts of a checkpoint, for saving and loading.
 *
 * The tensors are:
 *
 *     NAME                    a parameter or a state. "param/NAME" in the
 *                             metadata is its number, followed by " state"
 *                             and " full" if it is that
 *     sesqui/params           u32 [3]: passes that drew words, the seed
 *     sesqui/optimizer/STATE  as ssq_optimizer_visit names it
 *     sesqui/scaler           u8: the blob of ssq_scaler_save
 *     sesqui/trainer          u32: the words of a trainer
 *
 * The metadata has "sesqui.version", "sesqui.policy", "sesqui.optimizer", the
 * ranks' "sesqui.weights", "sesqui.choice." followed by each of choice_names,
 * and digests of each tensor and of the header. */
#ifndef LIB_CHECKPOINT_CHECKPOINT_H
#define LIB_CHECKPOINT_CHECKPOINT_H

#include "lib/checkpoint/safetensors.h"
#include "lib/core/core.h"

#define CHECKPOINT_VERSION "1"
#define CHOICE_KEY         "sesqui.choice."
#define OWN_PARAMS         OWN "params"
#define OWN_OPTIMIZER      OWN "optimizer/"
#define OWN_SCALER         OWN "scaler"
#define OWN_TRAINER        OWN "trainer"
#define PARAMS_WORDS       3
#define PARAM_KEY          "param/"
#define PARAM_STATE        " state"
#define PARAM_FULL         " full"

struct checkpoint {
    const char *what; /* begins error texts */
    ssq_queue *queue;
    ssq_params *params; /* this and the next two: NULL if absent */
    ssq_optimizer *optimizer;
    ssq_scaler *scaler;
    uint32_t *words;             /* of a trainer; or NULL */
    size_t n_words, least_words; /* a file may have as few as least_words; the
                                    rest is then 0 */
    /* to load a trainer: all parts of the file are required. If the optimizer
     * has no parameters, `give` adds them */
    bool whole;
    ssq_status (*give)(void *user);
    ssq_status (*check)(void *user); /* of words and weights, before anything is
                                        written; or NULL */
    void *user;
    char *weights;   /* text of a trainer's weights of ranks, or NULL; to load:
                        out, the caller must free it */
    bool written;    /* out: something was written, also after an error */
    char digest[20]; /* out: of the file that was loaded */
    bool elsewhere;  /* to save: another rank writes the file */
};

/** Set *c from the arguments of a public call. Returns SSQ_ERR_INVALID if they
 *  are not valid. */
ssq_status checkpoint_parts(struct checkpoint *c, const char *what,
                            ssq_queue *queue, const ssq_checkpoint_args *args);
/** Check the queue, the path and the objects before saving or loading. */
ssq_status checkpoint_call(const struct checkpoint *c, const char *path);
ssq_status checkpoint_save(struct checkpoint *c, const char *path);
ssq_status checkpoint_load(struct checkpoint *c, const char *path);

#endif
