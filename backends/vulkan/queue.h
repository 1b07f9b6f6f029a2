/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what a queue is made of: submissions, marks, a timeline.
 *
 *     recording -> in progress -> idle -> recording ..
 *
 * A queue records into one submission at a time. A sent submission is in
 * progress until the device has run it and someone has looked; retiring it then
 * copies its readbacks, completes its marks, and makes it idle.
 *
 * A queue's lock is held while anything of it is recorded or sent. The device's
 * lock, taken after it, guards the submissions in progress and the marks: any
 * thread may find out how far a queue has come.
 *
 * A timeline is a semaphore whose value is the number of the last submission
 * that has run; the host and other queues wait for a number. Devices without
 * such have a fence per submission, which only the host can wait for. */
#ifndef BACKENDS_VULKAN_QUEUE_H
#define BACKENDS_VULKAN_QUEUE_H

#include "backends/vulkan/vulkan.h"

/** Launches of a submission that comes before any was timed, and the ones that
 * a submission has room for. */
#define FIRST_LIMIT         64u
#define SUBMISSION_LAUNCHES 256u
/** Moments that are noted in a submission: its begin, its end, and a mark. A
 * mark is followed by sending the submission, so there is room for it. */
#define SUBMISSION_TIMES 16u
/** Commands of a submission: launches, copies and parts of graphs, which count
 * as launches, and moments. */
#define SUBMISSION_COMMANDS (SUBMISSION_LAUNCHES + SUBMISSION_TIMES)
/** Bytes of a submission's staging memory, for copies to the device and as many
 * for copies from it. A larger copy goes through several submissions. */
#define SUBMISSION_STAGING (UINT64_C(4) << 20)
/** Copies to the host in one submission: entries of arrivals. */
#define SUBMISSION_ARRIVALS 64u
/** Submissions that a queue makes; a thread that wants one more waits for the
 * oldest, which bounds the memory and how far the host runs ahead. */
#define SUBMISSION_COUNT 8u
/** Marks of other queues that a submission may wait for, by semaphores. */
#define SUBMISSION_WAITS 8u

/** A timeline semaphore of a queue. Marks refer to it as well, so that it may
 * outlive the queue: it is destroyed with the last reference. */
struct vulkan_timeline {
    VkSemaphore semaphore;
    unsigned refs; /* device's lock */
    bool borrowed; /* the caller owns the semaphore, and destroys it */
    /* A submission of another queue has waited for it: the driver may look
     * at it once more after that has run (vulkan_timeline_put()). Device's
     * lock. */
    bool waited;
};

/** A point in a queue, which an event is recorded at. The submission that it
 * is in has a reference while it runs, the event has one, and so has any thread
 * that waits for it. All under the device's lock. */
struct vulkan_mark {
    unsigned refs;
    struct vulkan_mark *next; /* of the same submission */
    struct backend_device *device;
    /* the queue that it is in, while it is not done; NULL after: the queue may
     * be gone */
    struct backend_queue *queue;
    struct vulkan_timeline *timeline;
    uint64_t value;
    /* which of the submission's moments it is */
    uint32_t time;
    bool done;         /* reached, and copies before it have arrived */
    ssq_status status; /* SSQ_OK, or of the queue's failure before it */
    bool timed;        /* ticks is a time: the device has a clock */
    uint64_t ticks;    /* of the device's clock, of timestamp_bits */
};

/** Bytes on their way to the host: copied from the staging memory to the
 * caller's when the submission is retired. */
struct vulkan_arrival {
    void *host;
    uint64_t from, bytes; /* in the submission's staging memory */
};

/** A command buffer with all that it uses: filled, sent as one thing, used
 * again once it has run. */
struct vulkan_submission {
    struct vulkan_submission *next; /* in progress, or idle */
    VkCommandPool pool;       /* of its one command buffer, reset as a whole */
    VkQueryPool times;        /* VK_NULL_HANDLE: the device has no clock */
    struct vulkan_mem *ticks; /* where the device puts them */
    VkFence fence;            /* without timelines */
    struct vulkan_recording rec; /* the buffer and what its launches use */
    uint32_t launches;           /* and copies; a graph's included */
    /* of launches, with which it is full: q->limit as it was when it was
     * begun */
    uint32_t limit;
    uint32_t ntimes;           /* moments noted so far */
    struct vulkan_mark *marks; /* that lie in it: a list by next */
    /* marks that it waits for before it begins, each with a reference */
    struct vulkan_mark *waits[SUBMISSION_WAITS];
    uint32_t nwaits;
    /* staging memory to and from the device, made when it is first wanted, and
     * the bytes of each that are taken */
    struct vulkan_mem *up, *down;
    uint64_t up_used, down_used;
    struct vulkan_arrival arrivals[SUBMISSION_ARRIVALS];
    uint32_t narrivals;
    /* its number: of the timeline at its end, counted without one too */
    uint64_t value;
    /* of the core's commands that are done when it has run */
    uint64_t sequence;
};

/** The members after the remark below are under the device's lock, the rest
 * under the queue's own. */
struct backend_queue {
    struct backend_device *device;
    pthread_mutex_t lock;
    struct vulkan_timeline *timeline; /* NULL: fences */
    uint64_t value;                   /* of the last submission that was sent */
    struct vulkan_submission *recording; /* or NULL */
    uint32_t nsubmissions;         /* made so far; SUBMISSION_COUNT at most */
    struct vulkan_hazards hazards; /* since the last barrier recorded */
    uint64_t submitted;            /* commands that the core has ended */
    /* value of submitted at the last call of completed(): the same again, and
     * no one has enqueued anything since */
    uint64_t asked;
    ssq_status status; /* of the first failure; sticky */
    char text[512];    /* of that failure */
    /* under the device's lock: */
    struct vulkan_submission *first, *last; /* in progress, oldest first */
    struct vulkan_submission *idle;         /* to be used again */
    uint32_t limit; /* launches in the next submission: learn() in retire.c */
    uint64_t finished; /* commands that have run */
};

/* submission.c: all with the queue's lock */
/** The submission that is recorded, begun if there is none, with room for one
 * launch or copy more. */
ssq_status vulkan_submission_get(struct backend_queue *queue,
                                 struct vulkan_submission **submission);
/** Record a launch into it. */
ssq_status vulkan_submission_launch(struct backend_queue *queue,
                                    const struct launch *launch);
/** Send what is recorded to the device, if anything is. Waits for kernels that
 * are still compiled. */
ssq_status vulkan_submission_send(struct backend_queue *queue);
/** Make one more submission, which is in no list yet. */
ssq_status vulkan_submission_create(struct backend_queue *queue,
                                    struct vulkan_submission **submission);
/** Also destroys one that was not completed; nothing of it may be running. */
void vulkan_submission_destroy(struct backend_queue *queue,
                               struct vulkan_submission *submission);
/** Note the moment in the submission and return which of its times it is. The
 * caller knows that it has room for one. */
uint32_t vulkan_submission_time(struct vulkan_submission *submission);

/* retire.c */
/** With the device's lock: retire the submissions that have run. Here and
 * below, *call is the name of the call that failed. */
VkResult vulkan_retire(struct backend_queue *queue, const char **call);
/** With the device's lock: give up what is in progress or recorded; its marks
 * get the status. Nothing of it may be running, or the device is lost. */
void vulkan_abandon(struct backend_queue *queue, ssq_status status);
/** Wait for the submissions up to the one with number value, 0: the first under
 * way, and retire them. Without the device's lock; the queue's may be held. */
VkResult vulkan_wait(struct backend_queue *queue, uint64_t value,
                     const char **call);
/** Wait for a mark that the caller holds; its result is in the mark.
 *  Without a lock. */
VkResult vulkan_mark_wait(struct vulkan_mark *mark, const char **call);
/** Give a reference back. With the device's lock. */
void vulkan_mark_put(struct vulkan_mark *mark);
void vulkan_timeline_put(struct backend_device *device,
                         struct vulkan_timeline *timeline);

/* sticky.c */
/** SSQ_OK, or the sticky error with its text. */
ssq_status vulkan_queue_check(struct backend_queue *queue);
/** With the queue's lock: sticky, once nothing of it runs any more. */
ssq_status vulkan_queue_fail(struct backend_queue *queue, const char *call,
                             VkResult result);
/** The same, of a failure whose text is the thread's already. */
ssq_status vulkan_queue_broken(struct backend_queue *queue, ssq_status status);
/** With the queue's lock: let what is in progress end, unless the device is
 * lost, and forget it all. Even where a wait fails, no more can be waited for.
 */
void vulkan_queue_give_up(struct backend_queue *queue, ssq_status status);
/** With the device's lock: "last submitted: gemm_tiled, cast", the commands
 * that the device was doing; or "". */
void vulkan_queue_last(const struct backend_queue *queue, char *text,
                       size_t bytes);

#endif
