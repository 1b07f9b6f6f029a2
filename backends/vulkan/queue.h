/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what a queue is made of: submissions, marks, a timeline.
 *
 *     recording -> under way -> idle -> recording ..
 *
 * A queue's lock is held while anything of it is recorded or submitted; the
 * device's lock, taken behind it, guards the submissions under way and the
 * marks: any thread may find out how far a queue has come. */
#ifndef BACKENDS_VULKAN_QUEUE_H
#define BACKENDS_VULKAN_QUEUE_H

#include "backends/vulkan/vulkan.h"

/** Launches of a submission that comes before any was timed, and that one has
 * room for. */
#define FIRST_LIMIT         64u
#define SUBMISSION_LAUNCHES 256u
/** Points in time of a submission: its begin, its end, and those of marks. */
#define SUBMISSION_TIMES 16u
/** Bytes of a submission's staging memory, each way. */
#define SUBMISSION_STAGING (UINT64_C(4) << 20)
/** Copies to the host in a submission. */
#define SUBMISSION_ARRIVALS 64u
/** Submissions of a queue; who wants more waits for the oldest. */
#define SUBMISSION_COUNT 8u
/** Semaphores that a submission may wait for. */
#define SUBMISSION_WAITS 8u

/** A timeline semaphore, as long as somebody may still look at it. */
struct vulkan_timeline {
    VkSemaphore semaphore;
    unsigned refs; /* device's lock */
    bool waited;   /* by another queue's submission; device's lock */
};

/** A point in a queue: an event's. device's lock */
struct vulkan_mark {
    unsigned refs;
    struct vulkan_mark *next; /* of the same submission */
    struct backend_device *device;
    struct backend_queue *queue; /* while it is not done */
    struct vulkan_timeline *timeline;
    uint64_t value;
    uint32_t time; /* which of the submission's */
    bool done;     /* reached, and copies before it have arrived */
    ssq_status status;
    bool timed;
    uint64_t ticks;
};

/** Bytes on their way to the host. */
struct vulkan_arrival {
    void *host;
    uint64_t from, bytes; /* in the submission's staging memory */
};

struct vulkan_submission {
    struct vulkan_submission *next;
    VkCommandPool pool;
    VkQueryPool times;        /* VK_NULL_HANDLE: the device has no clock */
    struct vulkan_mem *ticks; /* where the device puts them */
    VkFence fence;            /* where there is no timeline */
    struct vulkan_recording rec;
    uint32_t launches; /* and copies; a graph's included */
    uint32_t limit;    /* of launches */
    uint32_t ntimes;
    struct vulkan_mark *marks;
    struct vulkan_mark *waits[SUBMISSION_WAITS];
    uint32_t nwaits;
    struct vulkan_mem *up, *down; /* staging; made when wanted */
    uint64_t up_used, down_used;
    struct vulkan_arrival arrivals[SUBMISSION_ARRIVALS];
    uint32_t narrivals;
    uint64_t value;    /* of the timeline at its end */
    uint64_t sequence; /* commands up to its end */
};

struct backend_queue {
    struct backend_device *device;
    pthread_mutex_t lock;
    struct vulkan_timeline *timeline; /* NULL: fences */
    uint64_t value;                   /* of the last submission that was sent */
    struct vulkan_submission *recording; /* or NULL */
    uint32_t nsubmissions;
    struct vulkan_hazards hazards;
    uint64_t submitted; /* commands */
    uint64_t asked;     /* submitted, when completed() was last asked */
    ssq_status status;  /* of the first failure; sticky */
    char text[512];
    /* the device's lock */
    struct vulkan_submission *first, *last; /* under way, oldest first */
    struct vulkan_submission *idle;
    uint32_t limit; /* launches in the next submission */
    uint64_t finished;
};

/* submission.c: all with the queue's lock */
/** The submission that is recorded, begun if there is none, with room for one
 * launch or copy more. */
ssq_status vulkan_submission_get(struct backend_queue *queue,
                                 struct vulkan_submission **submission);
/** Record a launch into it. */
ssq_status vulkan_submission_launch(struct backend_queue *queue,
                                    const struct launch *launch);
/** Submit what is recorded, if anything is. */
ssq_status vulkan_submission_send(struct backend_queue *queue);
ssq_status vulkan_submission_create(struct backend_queue *queue,
                                    struct vulkan_submission **submission);
void vulkan_submission_destroy(struct backend_queue *queue,
                               struct vulkan_submission *submission);
/** Note a moment in the submission: which, of its times. It has room for one.
 */
uint32_t vulkan_submission_time(struct vulkan_submission *submission);

/* retire.c */
/** With the device's lock: let go of submissions that have run. Here and below,
 *  *call is the name of what failed. */
VkResult vulkan_retire(struct backend_queue *queue, const char **call);
/** With the device's lock: give up what is under way or recorded. */
void vulkan_abandon(struct backend_queue *queue, ssq_status status);
/** Wait for the submissions up to value, 0 the first under way, and retire
 * them. No lock of the device's held; the queue's may be. */
VkResult vulkan_wait(struct backend_queue *queue, uint64_t value,
                     const char **call);
/** Wait for a mark that the caller holds; what became of it is in the mark.
 *  Without a lock. */
VkResult vulkan_mark_wait(struct vulkan_mark *mark, const char **call);
/** With the device's lock. */
void vulkan_mark_put(struct vulkan_mark *mark);
void vulkan_timeline_put(struct backend_device *device,
                         struct vulkan_timeline *timeline);

/* sticky.c */
/** SSQ_OK, or the sticky error with its text. */
ssq_status vulkan_queue_check(struct backend_queue *queue);
/** With the queue's lock: sticky, once nothing of it runs any more. */
ssq_status vulkan_queue_fail(struct backend_queue *queue, const char *call,
                             VkResult result);
/** The same of a failure whose text is set. */
ssq_status vulkan_queue_broken(struct backend_queue *queue, ssq_status status);
/** With the queue's lock: what is under way may end, unless the device is lost;
 *  after that, whatever a wait says, there is no more to be waited for. */
void vulkan_queue_give_up(struct backend_queue *queue, ssq_status status);
/** With the device's lock: "last submitted: gemm_tiled, cast", what the
 *  device was doing; or "". */
void vulkan_queue_last(const struct backend_queue *queue, char *text,
                       size_t bytes);

#endif
