/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - attention in query blocks and key blocks, on all threads: which
 * ops it takes, and the job of an op. */
#include "backends/cpu/attention/attention.h"

#include "backends/cpu/attention/attention_job.h"

/* Blocks of longer heads would not fit into the caches. */
#define LONGEST_HEAD 1024

static bool attention_admit(const struct attention_params *p, struct why *why)
{
    if (p->d == 0 || p->dv == 0)
        return refuse(why, "d is %lld, dv is %lld: nothing is multiplied",
                      (long long)p->d, (long long)p->dv);
    if (p->d > LONGEST_HEAD || p->dv > LONGEST_HEAD)
        return refuse(why, "d is %lld, dv is %lld: blocks of up to %d fit",
                      (long long)p->d, (long long)p->dv, LONGEST_HEAD);
    return true;
}

static bool attention_check_forward(const struct backend_device *device,
                                    const struct attention_op *op,
                                    struct why *why)
{
    (void)device;
    return attention_admit(&op->p, why);
}

static bool attention_check_backward(const struct backend_device *device,
                                     const struct attention_backward_op *op,
                                     struct why *why)
{
    (void)device;
    return attention_admit(&op->p, why);
}

static ssq_status attention_run_forward(struct backend_queue *queue,
                                        const struct attention_op *op)
{
    struct attention_job job;
    attention_job_fill(&job, queue->device, &op->p, &op->q, &op->k, &op->v,
                       &op->mask, &op->step);
    job.y = attention_operand(&op->y);
    job.lse = attention_operand(&op->lse);
    return attention_forward(&job, queue->device);
}

static ssq_status attention_run_backward(struct backend_queue *queue,
                                         const struct attention_backward_op *op)
{
    struct attention_job job;
    attention_job_fill(&job, queue->device, &op->p, &op->q, &op->k, &op->v,
                       &op->mask, &op->step);
    job.y = attention_operand(&op->y);
    job.lse = attention_operand(&op->lse);
    job.dy = attention_operand(&op->dy);
    job.dq = attention_operand(&op->dq);
    job.dk = attention_operand(&op->dk);
    job.dv = attention_operand(&op->dv);
    return attention_backward(&job, queue->device);
}

const struct attention_impl cpu_attention[] = {
    {.name = "strips",
     .check = attention_check_forward,
     .run = attention_run_forward},
    {.name = NULL},
};

const struct attention_backward_impl cpu_attention_backward[] = {
    {.name = "strips",
     .check = attention_check_backward,
     .run = attention_run_backward},
    {.name = NULL},
};
