/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the parts of a checkpoint, for those who save and load.
 *
 *     NAME                    a parameter or a state; "param/NAME" in the
 *                             metadata is its number, " state" and " full"
 *                             behind it where it is that
 *     sesqui/params           u32 [3]: passes that drew words, the seed
 *     sesqui/optimizer/STATE  as ssq_optimizer_visit names it
 *     sesqui/scaler           u8: the blob of ssq_scaler_save
 *     sesqui/trainer          u32: the trainer's own words
 *
 * and in the metadata "sesqui.version", "sesqui.policy", "sesqui.optimizer",
 * "sesqui.weights" of ranks, "sesqui.choice." and each of choice_names, and
 * digests of each tensor and of the header. */
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
    const char *what; /* begins texts */
    ssq_queue *queue;
    ssq_params *params; /* NULL: not of it, as the other two */
    ssq_optimizer *optimizer;
    ssq_scaler *scaler;
    uint32_t *words; /* of a trainer; NULL: none */
    size_t n_words, least_words; /* a file may have fewer, the rest is 0 */
    /* of a trainer, to load: the file's parts are all wanted, and `give` gives
     * the optimizer its parameters where it has none */
    bool whole;
    ssq_status (*give)(void *user);
    ssq_status (*check)(void *user); /* of words and weights, before anything is
                                        written; NULL: they will do */
    void *user;
    char *weights;   /* a trainer's, of ranks, as it spells them; to load: out,
                        to be freed; NULL: none */
    bool written;    /* out: something was, before a failure */
    char digest[20]; /* out: of all that was loaded */
    bool elsewhere;  /* to save: another rank writes the file */
};

/** The parts that a caller names. */
ssq_status checkpoint_parts(struct checkpoint *c, const char *what,
                            ssq_queue *queue, const ssq_checkpoint_args *args);
/** What both calls check of their queue and path. */
ssq_status checkpoint_call(const struct checkpoint *c, const char *path);
ssq_status checkpoint_save(struct checkpoint *c, const char *path);
ssq_status checkpoint_load(struct checkpoint *c, const char *path);

#endif
