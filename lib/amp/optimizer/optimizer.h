/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h - the structs of an optimizer, and the ops of its step. */
#ifndef LIB_AMP_OPTIMIZER_OPTIMIZER_H
#define LIB_AMP_OPTIMIZER_OPTIMIZER_H

#include <sesqui/amp/optimizer.h>

#include "kernels/amp/kinds.h"
#include "lib/amp/common/check.h"
#include "lib/amp/common/readback.h"
#include "lib/amp/common/origin.h"
#include "lib/amp/scaler/scaler.h"
#include "lib/core/base/names.h"
#include "lib/core/base/interval.h"

struct buckets;
struct shards;

/* A word of the control block that no kernel uses. Copies that have arrived
 * have this value. */
#define CONTROL_MAGIC       (CONTROL_WORDS - 1)
#define CONTROL_MAGIC_VALUE 0x6f515373u

/* ---- ops ---- */

enum accumulate_mode {
    ACCUMULATE_FIRST, /* sum = g */
    ACCUMULATE_ADD,   /* sum += g */
    ACCUMULATE_ZERO   /* g = 0: the list holds gradients only */
};

/** List: n gradients, for reading, then n float32 sums. All contiguous. */
struct accumulate_op {
    struct op op;
    uint32_t n;
    enum accumulate_mode mode;
};

/** List: pairs of contiguous views, from and to. to = from, rounded to nearest.
 * A u8 view (a remainder) becomes 0. */
struct master_op {
    struct op op;
    uint32_t n; /* pairs */
    uint32_t gap;
};

/** One thread: compute the words of the present step. The list has, for each
 *  group, its lr and momentum schedules, i32 [1 + n], for reading: the number
 * of values, then their bits. Absent, or 0 values: the group's own word. */
struct tick_op {
    struct op op;
    uint32_t kind;
    uint32_t groups;
    float factor;        /* as in check_op */
    uint32_t unscaled;   /* the gradients are unscaled already */
    struct view record;  /* read */
    struct view block;   /* optional, read; absent: no step is skipped */
    struct view control; /* i32 [CONTROL_WORDS + groups * GROUP_WORDS] */
};

/** Views per entry in the lists of lamb and optimizer: parameter, gradient, and
 *  the slots below. An entry is a parameter, or a piece of one. An entry whose
 *  views continue those of the entry before is a piece of the same parameter.
 */
#define SLOT_MASTER 0 /* or remainder: u8 [2 n], each word low byte first */
#define SLOT_A      1
#define SLOT_B      2
#define SLOT_C      3
#define SLOTS       4
#define PARAM_VIEWS (2 + SLOTS)

/** Words of a partial sum of LAMB's norms, of the parameter and of its update:
 * three sums of each, in the layout of kernels/amp/grad_args.h. */
#define LAMB_PART_WORDS 6u

/** ratio[i] = LAMB's step length of parameter i. Reads the operands that
 *  optimizer will update, and does not change them. As with a check, ranks use
 *  two ops: one without a ratio, and one whose list has one view for each
 *  parameter or piece. */
struct lamb_op {
    struct op op;
    uint32_t n;          /* entries */
    uint32_t first;      /* as in check_op */
    struct view control; /* read */
    struct view table;   /* i32 [parameters, TABLE_WORDS], read */
    struct view ratio;   /* f32 [parameters], written */
    struct view parts;   /* optional: i32 [LAMB_PART_WORDS, chunks] */
};

/** The step: the only op that changes the optimizer's state. */
struct optimizer_op {
    struct op op;
    uint32_t kind;
    uint32_t n;          /* entries */
    struct view control; /* updated: t and the random counter, at the end */
    struct view table;   /* read */
    struct view ratio;   /* lamb only, read */
    struct view stats;   /* optional: i32 [parameters, STAT_WORDS], updated */
};

/* ---- objects ---- */

#define SCHEDULE_LR       0
#define SCHEDULE_MOMENTUM 1

struct schedule {
    bool on;
    ssq_schedule what;
    double *table; /* of SSQ_SCHEDULE_TABLE; owned */
    ssq_tensor
        *words; /* as tick reads it; NULL before the first use, or none */
};

struct ssq_group {
    ssq_group *next;
    ssq_optimizer *optimizer;
    unsigned index;
    ssq_optimizer_options options; /* -1 replaced by defaults */
    struct schedule schedule[2];
    bool slot[SLOTS]; /* which slots the state has; set with the state */
};

struct parameter {
    char *name;
    uint32_t id; /* FNV-1a of the name, 32 bits */
    ssq_tensor *param, *grad;
    ssq_group *group;
    uint32_t master_kind;
    uint64_t first;         /* number of its first element; of a shard */
    struct origin *origin;  /* initial value of its master; NULL: param */
    struct place_of *place; /* param's and grad's, in the index; owned */
};

/** The memory range of a parameter or its gradient. */
struct place_of {
    struct interval interval; /* of bytes; an empty one is not in the index */
    size_t param;
    bool grad;
};

/** The lists of a step, over gradients or over their sums. */
struct lists {
    struct view_list *check, *unscale, *step;
};

/** All memory on the device. Created as a whole at the first use. */
struct state {
    ssq_tensor *control, *counters; /* counters: its first two words */
    ssq_tensor *table, *record;
    struct readback *readback; /* of control, without the groups */
    ssq_tensor *stats, *ratio; /* or NULL */
    ssq_tensor **slot;         /* n * SLOTS, NULL if absent */
    ssq_tensor **flat;         /* flat masters by group, or NULLs */
    size_t n, groups;
    size_t pieces;         /* in lists, of this rank's part of all parameters */
    struct shards *shards; /* NULL: there is only this rank */
    struct lists grads;
    struct view_list *to_master, *to_model, *schedules;
    /* for accumulation: NULL until its first use */
    ssq_tensor **sum;
    struct lists sums;
    struct view_list *accumulate;
    struct buckets *buckets; /* NULL: none were created */
};

enum stage { STAGE_READY, STAGE_CHECKED, STAGE_STEPPED };

/** The stage of a step. A capture restores it at its end. A scaler's update
 * makes it READY again. */
struct optimizer_stages {
    enum stage stage;
    ssq_scaler *scaler;   /* of the last check or step; held */
    uint64_t epoch;       /* number of that scaler's updates then */
    bool unscaled;        /* the check saw, or wrote, unscaled gradients */
    bool measured;        /* the check measured the norm */
    bool accumulating;    /* the sums are not used by a step yet */
    uint64_t summed;      /* scaler_clock() at the first of them; 0: unknown */
    bool stale;           /* a call has refused the sums: their scale is old */
    bool reduced;         /* the sums are over ranks, in this rank's shard */
    bool gathering;       /* after a step: parameters must be gathered */
    bool checked, normed; /* ranks have combined the partial sums of a check,
                             and of LAMB's norms, and they are not used yet */
    double factor;
};

struct ssq_optimizer {
    struct object object;
    ssq_device *device;
    ssq_comm *comm; /* owned by the program; NULL: not distributed */
    uint32_t kind;
    ssq_optimizer_options options;   /* whole-optimizer fields */
    ssq_group *groups, **groups_end; /* the default one first */
    unsigned n_groups;
    struct parameter *params;
    size_t n, room;
    struct name_index names;  /* of params: their numbers */
    struct interval *places;  /* of params and their gradients */
    bool origins;             /* some params may have an origin */
    struct state *state;      /* NULL before the first use */
    const ssq_tensor *labels; /* of a trainer, as check_op has them; or NULL */
    struct optimizer_stages at;
};

/* optimizer_kinds.c */
/** Options that only some kinds read. */
#define OPTION_MOMENTUM  (1u << 0)
#define OPTION_DAMPENING (1u << 1)
#define OPTION_NESTEROV  (1u << 2)
#define OPTION_BETAS     (1u << 3)
#define OPTION_ALPHA     (1u << 4)
#define OPTION_EPS       (1u << 5)
#define OPTION_AMSGRAD   (1u << 6)
#define OPTION_CENTERED  (1u << 7)
#define OPTION_LR_DECAY  (1u << 8)
#define OPTION_INITIAL   (1u << 9)
#define OPTION_FORM      (1u << 10)
#define OPTION_LAMB      (1u << 11) /* only lamb's; each tensor has a norm */

/** When a group has a slot. */
enum slot_when { NEVER, ALWAYS, WITH_MOMENTUM, WITH_AMSGRAD, WITH_CENTERED };

struct optimizer_kind {
    const char *name;
    double lr, alpha, eps, weight_decay; /* defaults */
    struct {
        const char *name; /* in checkpoints */
        enum slot_when when;
    } slot[SLOTS - 1]; /* from SLOT_A on */
    uint32_t reads;    /* OPTION_*; all kinds read lr and weight_decay */
};
extern const struct optimizer_kind optimizer_kinds[OPT_KINDS];
/** Find a kind by its name.
 *  @return NOT_FOUND, with the names that there are */
ssq_status optimizer_kind_of(const char *name, const char *what,
                             uint32_t *kind);
/** Return whether a kind reads one of these options. */
bool optimizer_reads(uint32_t kind, uint32_t options);

/* optimizer_options.c */
/** Replace -1 by defaults, and refuse values that are out of range. */
ssq_status options_resolve(uint32_t kind, const char *what,
                           ssq_optimizer_options *options);
/** Write a group's GROUP_WORDS words on the host. */
void group_words(uint32_t kind, const ssq_optimizer_options *options,
                 uint32_t *words);
/** Return whether a group has a slot. Not for SLOT_MASTER. */
bool slot_used(const ssq_group *group, int slot);
/** Return whether the state exists without the buffer of momentum. */
bool momentum_missing(const ssq_group *group);

/* optimizer_hyper.c */
/** Return whether clip_norm is 0 or more, and a float32 or INFINITY. */
bool optimizer_clip_norm_valid(double value);
/** Return the word of a valid clip_norm. */
uint32_t optimizer_clip_word(double value);
/** Return whether a check of now measures the norm. */
bool optimizer_measures(const ssq_optimizer *optimizer);

/* schedule.c */
/** Return the value of a checked schedule. ssq_schedule_value checks it, which
 *  takes a time that grows with a table. */
double schedule_at(const ssq_schedule *schedule, uint32_t t);

/* schedule_words.c */
/** Set *words to 1 + total_steps words on the host, to be freed. */
ssq_status schedule_words(const ssq_schedule *what, uint32_t **words);
/** Upload those words to the device. */
ssq_status schedule_table(ssq_queue *queue, const uint32_t *words,
                          ssq_tensor **table);
/** Set *words to a device copy of an active schedule. */
ssq_status schedule_upload(ssq_queue *queue, const struct schedule *schedule,
                           ssq_tensor **words);
void schedule_free(struct schedule *schedule);

/** Return the list from which tick reads schedules; NULL: no memory. */
struct view_list *schedules_list(const ssq_optimizer *optimizer,
                                 const ssq_group *group, int which,
                                 const ssq_tensor *words);
/** Upload words to an i32 tensor from word `at` on; copied at the call. */
ssq_status upload_words(ssq_queue *queue, const ssq_tensor *tensor, uint64_t at,
                        const uint32_t *words, uint64_t n);

/* optimizer_schedule.c */
/** Check a call of ssq_optimizer_schedule. *group: NULL becomes the default
 *  group. *which is set to SCHEDULE_LR or SCHEDULE_MOMENTUM. */
ssq_status optimizer_schedule_check(ssq_queue *queue, ssq_optimizer *optimizer,
                                    ssq_group **group, ssq_hyper hyper,
                                    const ssq_schedule *schedule, int *which);
/** Send t to the host, if a schedule follows it. Call this after work that may
 *  have changed t. Without memory, the host does not know t until the next
 * call.
 */
void optimizer_tell(ssq_queue *queue, const ssq_optimizer *optimizer);
/** Return t as far as the host knows it. */
uint32_t optimizer_known_t(const ssq_optimizer *optimizer);

/* optimizer_state.c */
/** Create and initialise the state, unless it exists. `what` begins texts. */
ssq_status optimizer_seal(ssq_queue *queue, ssq_optimizer *optimizer,
                          const char *what);
/** Create the sums of accumulation, unless they exist. */
ssq_status optimizer_sums(ssq_optimizer *optimizer);
void state_free(struct state *state);

/* optimizer_step.c */
/** Sum the sums of gradients over the ranks, unless that has been done. For an
 *  optimizer that has ranks, and has accumulated. */
ssq_status optimizer_reduce(ssq_queue *queue, ssq_optimizer *optimizer);
/** ssq_optimizer_accumulate in parts: first the checks, which also create the
 *  sums; then each gradient of a list is added to its sum, once; at the end all
 *  sums are complete. */
ssq_status optimizer_accumulate_begin(ssq_queue *queue,
                                      ssq_optimizer *optimizer, double factor);
ssq_status optimizer_accumulate_list(ssq_queue *queue,
                                     const ssq_optimizer *optimizer,
                                     struct view_list *list);
void optimizer_accumulate_end(ssq_optimizer *optimizer, double factor);
/** Set the factor of the accumulated sums. */
void optimizer_set_factor(ssq_optimizer *optimizer, double factor);
/** Check that the accumulated sums can be dropped.
 *  @return INVALID after a check or a step */
ssq_status optimizer_check_sums(ssq_queue *queue, ssq_optimizer *optimizer,
                                const char *what);

/* optimizer_stages.c */
/** Call this before a call changes the stages. It sees a scaler's update, and
 *  makes a capture restore the stages. */
ssq_status optimizer_watch(ssq_queue *queue, ssq_optimizer *optimizer);
/** Return whether the gradients were checked since the last step or update. */
bool optimizer_is_checked(ssq_optimizer *optimizer);
void optimizer_stage_set(ssq_optimizer *optimizer, enum stage stage,
                         ssq_scaler *scaler);
/** End the accumulation: a step has used the sums, or they are dropped. A
 * caller that drops them calls optimizer_check_sums() first. */
void optimizer_drop_sums(ssq_optimizer *optimizer);
/** INVALID if the scaler was updated since the first sum, or if an earlier call
 *  has found that. scaler may be NULL. */
ssq_status optimizer_sums_current(ssq_optimizer *optimizer,
                                  const ssq_scaler *scaler, const char *what);
/** Set *unscaled to whether the gradients that a step would read are unscaled.
 *  SSQ_ERR_INVALID if only some are, or if the step reads their sums. */
ssq_status optimizer_gradients(const ssq_optimizer *optimizer,
                               const ssq_scaler *scaler, const char *what,
                               bool *unscaled);
/** INVALID if a gradient was unscaled since the scaler's last update. */
ssq_status optimizer_gradients_scaled(const ssq_optimizer *optimizer,
                                      const ssq_scaler *scaler,
                                      const char *what, const char *when);

/* optimizer_report.c */
/** A state tensor by name, whole or a part. */
struct state_of {
    const char *name;       /* valid during a call */
    const ssq_tensor *here; /* this rank's part; NULL: none */
    size_t param;
    int slot;          /* -1: "control" */
    struct view whole; /* dtype and shape; no buffer */
    int64_t from;      /* number of the first element of `here` */
};
/** Called for each state tensor, in the order of ssq_optimizer_visit, also if
 *  this rank has no part of it. The optimizer must have a state. */
typedef ssq_status state_fn(void *user, const struct state_of *state);
ssq_status optimizer_states(const ssq_optimizer *optimizer, state_fn *fn,
                            void *user);

/* optimizer_save.c */
/** Make a first use. INVALID in a capture and in the middle of a step. */
ssq_status optimizer_at_rest(ssq_queue *queue, ssq_optimizer *optimizer,
                             const char *what);

/* calls.c */
/** Check what every call needs: not NULL, one device, no failed queue. */
ssq_status optimizer_call(const ssq_queue *queue,
                          const ssq_optimizer *optimizer, const char *what);

/* optimizer_index.c */
/** Return the parameter of a name; NULL: there is none. */
struct parameter *optimizer_find(const ssq_optimizer *optimizer,
                                 const char *name);
/** INVALID if a tensor overlaps a parameter or a gradient. what: "param" or
 *  "grad", of the parameter of this name that is to be added. */
ssq_status optimizer_check_apart(const ssq_optimizer *optimizer,
                                 const char *name, const ssq_tensor *tensor,
                                 const char *what);
/** Put the last parameter into the index, whose names have a free entry. */
void optimizer_index(ssq_optimizer *optimizer);
/** Remove parameters from number n on from the index. */
void optimizer_unindex(ssq_optimizer *optimizer, size_t n);

/* optimizer.c */
/** Set the initial value of a parameter's master, which is used if the master
 * is new at the first use. Takes a reference. The parameter must have 16 bits.
 */
void optimizer_begin_with(ssq_optimizer *optimizer, struct parameter *p,
                          struct origin *origin);
/** Drop the origins: a step has written the parameters. */
void optimizer_drop_origins(ssq_optimizer *optimizer);
/** Undo a first use, and remove parameters from number n on. For a caller that
 *  has just added them, and whose next step failed. */
void optimizer_cut(ssq_optimizer *optimizer, size_t n);

#endif
