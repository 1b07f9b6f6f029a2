/* SPDX-License-Identifier: Apache-2.0 */
/* channel_args.h - what the kernels of batch norm and group norm walk.
 *
 * A row is what is summed at first: a channel of the whole batch (pooled), or
 * of an example. Its elements are lines, of which the last dimension makes one,
 * cut into pieces; a chunk is some pieces. A task is a chunk of a row, whose
 * neighbours go to the lanes of a group; or, where channels are neighbours in
 * memory, a chunk of LANES rows, one for each lane ("across"). */
#ifndef KERNELS_NORM_CHANNEL_ARGS_H
#define KERNELS_NORM_CHANNEL_ARGS_H

#include "kernels/operands/floats.h"
#include "kernels/dialect/group.h"

#define CHANNEL_OUTER 4 /* dimensions of a row but its last */

/* How the work is divided. mean and rstd have a place for each example and set
 * of channels: an example's step is 0 where the whole batch shares them. */
struct channel_walk {
    u32 tasks;
    u32 channels;
    u32 per_group; /* channels that share statistics */
    u32 across; /* lanes are channels, not neighbours of a line */
    u32 chunks;    /* of a row */
    u32 per_chunk; /* pieces */
    u32 pieces;    /* of a row */
    u32 per_line;  /* pieces */
    u32 longest;   /* of a piece, but of a line's last */
    u32 line; /* elements of a line */
    u32 rank; /* of the counter of a row's lines, with its sizes: */
    u32 size[CHANNEL_OUTER];
    u32 mean_example; /* from example to example */
    u32 mean_group;   /* and from set of channels to set */
    u32 rstd_example;
    u32 rstd_group;
};
/* An operand of such a walk: steps in elements. */
struct channel_operand {
    u32 dtype;
    u32 example; /* from example to example */
    u32 channel; /* from channel to channel */
    u32 step;    /* along a line */
    u32 steps[CHANNEL_OUTER]; /* between lines */
};

/* channel_sum.k: sum has a place for each chunk of each row. Two launches make
 * a mean and a variance: of x first, then of (x - mean)^2, which does not
 * cancel, and of x - mean, from `deviations` on. */
struct channel_sum_args {
    u32 x_at;
    u32 sum_at;
    u32 mean_at;
    STRUCT(channel_walk) walk;
    STRUCT(channel_operand) x;
    u32 deviations; /* where their sums begin */
};

/* channel_sum_dy.k: of each chunk of each row, the sum of dy and that of dy
 * z. */
struct channel_sum_dy_args {
    u32 x_at;
    u32 dy_at;
    u32 mean_at;
    u32 rstd_at;
    u32 sum_at;
    u32 sum_z_at;
    STRUCT(channel_walk) walk;
    STRUCT(channel_operand) x;
    STRUCT(channel_operand) dy;
};

/* channel_apply.k: y = (x - mean) rstd gamma + beta, then the activation. gamma
 * and beta are float32, one for each channel. */
struct channel_apply_args {
    u32 x_at;
    u32 mean_at;
    u32 rstd_at;
    u32 gamma_at;
    u32 beta_at;
    u32 y_at;
    STRUCT(channel_walk) walk;
    STRUCT(channel_operand) x;
    STRUCT(channel_operand) y;
    u32 gamma_given;
    u32 gamma_step;
    u32 beta_given;
    u32 beta_step;
    u32 activation;
};

/* channel_gradient.k: avg and avg_z are channel_fold.k's. */
struct channel_gradient_args {
    u32 x_at;
    u32 dy_at;
    u32 mean_at;
    u32 rstd_at;
    u32 gamma_at;
    u32 avg_at;
    u32 avg_z_at;
    u32 dx_at;
    STRUCT(channel_walk) walk;
    STRUCT(channel_operand) x;
    STRUCT(channel_operand) dy;
    STRUCT(channel_operand) dx;
    u32 gamma_given;
    u32 gamma_step;
    u32 given; /* statistics: averages do not exist */
};

/* channel_statistics.k: the sums of chunks, in the order of rows, made into
 * selected by `what`: the mean; that mean corrected and the reciprocal
 * deviation; or both from given running statistics. The sums of deviations
 * follow squares'. */
#define CHANNEL_MEAN  0u
#define CHANNEL_RSTD  1u
#define CHANNEL_GIVEN 2u
struct channel_statistics_args {
    u32 mean_at;
    u32 rstd_at;
    u32 sum_at;
    u32 running_mean_at;
    u32 running_var_at;
    u32 rest_at;
    u32 what;
    u32 sets;   /* that share statistics */
    u32 groups; /* sets of an example */
    u32 parts;  /* sums of a set */
    u32 mean_example;
    u32 mean_group;
    u32 rstd_example;
    u32 rstd_group;
    u32 running; /* running statistics are updated */
    u32 rest;    /* is wanted */
    u32 running_mean_step;
    u32 running_var_step;
    float count; /* elements of a set */
    float running_count; /* divides the squares for running_var */
    float eps;
    float keep; /* 1 - momentum */
    float momentum;
};

/* channel_fold.k: dgamma and dbeta of channels from the sums of their rows, and
 * the averages of sets. A result that is not given is absent. */
struct channel_fold_args {
    u32 sum_at;
    u32 sum_z_at;
    u32 gamma_at;
    u32 dgamma_at;
    u32 dbeta_at;
    u32 avg_at;
    u32 avg_z_at;
    u32 examples; /* rows of a channel */
    u32 channels;
    u32 chunks;
    u32 per_group;
    u32 sets; /* 0: no averages */
    u32 gamma_given;
    u32 gamma_step;
    u32 dgamma_given;
    u32 dgamma_step;
    u32 dbeta_given;
    u32 dbeta_step;
    float count;
};

/* The example, first channel and chunk of a task, and the number of lanes that
 * have a channel. With `across` neighbouring lanes are channels. */
struct channel_task {
    u32 example;
    u32 channel;
    u32 chunk;
    u32 lanes;
};

FN STRUCT(channel_task)
    channel_task_of(u32 g, u32 chunks, u32 channels, bool across)
{
    STRUCT(channel_task) task;
    u32 row = g / chunks;
    u32 blocks =
        across ? (channels + U32(LANES) - 1u) / U32(LANES) : channels;

    task.chunk = g - row * chunks;
    task.example = row / blocks;
    task.channel = row - task.example * blocks;
    task.lanes = U32(LANES);
    if (across) {
        task.channel = task.channel * U32(LANES);
        if (channels - task.channel < task.lanes)
            task.lanes = channels - task.channel;
    }
    return task;
}
/* The macros below name the task as `task`, and its piece as `piece`. */
#define CHANNEL_TASK(G)                                                        \
    channel_task_of(G, pc.walk.chunks, pc.walk.channels, pc.walk.across != 0u)

/* The channel of lane K; of those without one the last. */
#define CHANNEL_OF(K)                                                          \
    (pc.walk.across == 0u   ? task.channel                                     \
     : LANE(K) < task.lanes ? task.channel + LANE(K)                           \
                            : pc.walk.channels - 1u)
/* The mean or rstd (N) of channel C of the task's example. */
#define CHANNEL_STATISTIC(N, C)                                                \
    AT(N, task.example *pc.walk.N##_example +                                  \
              (C) / pc.walk.per_group * pc.walk.N##_group)

/* A piece of the chunk: which line, where it starts, how long it is; and as
 * steps of the group: how many, how many of them with all lanes, and how many
 * lanes the others have. */
struct channel_piece {
    u32 line;
    u32 start;
    u32 steps;
    u32 full;
    u32 rest;
};

FN STRUCT(channel_piece)
    channel_piece_of(u32 i, u32 per_line, u32 longest, u32 line, bool across,
                     u32 lanes)
{
    STRUCT(channel_piece) piece;

    piece.line = i / per_line;
    piece.start = (i - piece.line * per_line) * longest;
    u32 count = line - piece.start > longest ? longest : line - piece.start;

    piece.steps = count;
    piece.full = lanes == U32(LANES) ? count : 0u;
    piece.rest = lanes;
    if (!across) {
        piece.full = count / U32(LANES);
        piece.rest = count - piece.full * U32(LANES);
        piece.steps = piece.rest == 0u ? piece.full : piece.full + 1u;
    }
    return piece;
}
#define CHANNEL_PIECE(I)                                                       \
    channel_piece_of(I, pc.walk.per_line, pc.walk.longest, pc.walk.line,       \
                     pc.walk.across != 0u, task.lanes)

/* The end of the pieces of a chunk. */
FN u32 channel_end(u32 chunk, u32 per_chunk, u32 pieces)
{
    u32 begin = chunk * per_chunk;

    return pieces - begin > per_chunk ? begin + per_chunk : pieces;
}
/* The pieces of the task, by number. */
#define EACH_CHANNEL_PIECE(I)                                                  \
    for (u32 I = task.chunk * pc.walk.per_chunk,                               \
             I##_end = channel_end(task.chunk, pc.walk.per_chunk,              \
                                   pc.walk.pieces);                            \
         I < I##_end; I++)

/* Where the operand N's piece begins, and how far it is to the next lane and
 * to the next step. */
#define CHANNEL_WALK(N, AT0, BY_LANE, BY_STEP)                                 \
    u32 AT0 =                                                                  \
        task.example * pc.N.example + task.channel * pc.N.channel +            \
        piece.start * pc.N.step;                                               \
    u32 AT0##_rest = piece.line;                                               \
    for (u32 AT0##_d = pc.walk.rank; AT0##_d > 0u; AT0##_d--) {                \
        u32 AT0##_q = AT0##_rest / pc.walk.size[AT0##_d - 1u];                 \
        AT0 += (AT0##_rest - AT0##_q * pc.walk.size[AT0##_d - 1u]) *           \
               pc.N.steps[AT0##_d - 1u];                                       \
        AT0##_rest = AT0##_q;                                                  \
    }                                                                          \
    u32 BY_LANE = pc.walk.across != 0u ? pc.N.channel : pc.N.step;             \
    u32 BY_STEP = pc.walk.across != 0u ? pc.N.step : pc.N.step * U32(LANES);

/* DO(the operands' distances from lane to lane) for every step t and lane k.
 * UNIT, where all those are 1, becomes vector instructions of a processor. */
#if WG == 1
#define CHANNEL_UNIT(UNIT, DO)                                                 \
    if (UNIT) {                                                                \
        for (; t < piece.full; t++) {                                          \
            EACH_OWN(k)                                                        \
            {                                                                  \
                DO(1u, 1u, 1u)                                                 \
            }                                                                  \
        }                                                                      \
    }
#else
#define CHANNEL_UNIT(UNIT, DO)
#endif
#define CHANNEL_STEPS(UNIT, DO, A, B, C)                                       \
    u32 t = 0u;                                                                \
    CHANNEL_UNIT(UNIT, DO)                                                     \
    for (; t < piece.steps; t++) {                                             \
        u32 some = t < piece.full ? U32(LANES) : piece.rest;                   \
        EACH_OWN(k)                                                            \
        {                                                                      \
            if (LANE(k) < some) {                                              \
                DO(A, B, C)                                                    \
            }                                                                  \
        }                                                                      \
    }

/* Where the task's sum of channel C goes; and the sums of lanes put there, FROM
 * on: each lane's where lanes are channels, else all together, by way of the
 * shared array `lane`. */
#define CHANNEL_PLACE(C)                                                       \
    ((task.example * pc.walk.channels + (C)) * pc.walk.chunks + task.chunk)
#define CHANNEL_STORE(SUM, FROM, ACC)                                          \
    if (pc.walk.across != 0u) {                                                \
        EACH_OWN(k)                                                            \
        {                                                                      \
            if (LANE(k) < task.lanes)                                          \
                AT(SUM, (FROM) + CHANNEL_PLACE(task.channel + LANE(k))) =      \
                    ACC[k];                                                    \
        }                                                                      \
    } else {                                                                   \
        EACH_OWN(k) lane[LANE(k)] = ACC[k];                                    \
        GROUP_SUM(lane)                                                        \
        if (LOCAL_ID == 0u)                                                    \
            AT(SUM, (FROM) + CHANNEL_PLACE(task.channel)) = lane[0];           \
        BARRIER();                                                             \
    }

#endif
