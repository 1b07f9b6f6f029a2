/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.c - asynchronous readback of a device block. */
#include "lib/amp/common/mailbox.h"

#include "lib/core/queue/replay.h"

#include "lib/core/core.h"

#include <string.h>

/* Most letters in flight on one queue. Further posts go into the newest of
 * them, whose arrival each post delays. The other one arrives undisturbed, so
 * that a reader gets news however often a program posts. A mailbox has at most
 * two letters for each queue. */
#define UNDER_WAY 2

struct letter {
    struct letter *next;
    struct progress *progress; /* of its queue; NULL: not in flight */
    uint64_t position;         /* of the last copy into it, on its queue */
    uint64_t number;           /* of its last post; 0: empty */
    uint32_t words[];
};

struct mailbox {
    struct object object;
    struct letter *letters; /* freed with the mailbox, not before */
    uint32_t n, magic;      /* words of a letter; index of one never 0 */
    uint64_t posted;        /* the number of the last post */
    uint64_t number;  /* of the letter that was copied to words; 0: none */
    uint32_t words[]; /* the newest that has arrived */
};

static size_t mailbox_bytes_of(const struct mailbox *box)
{
    return box->n * sizeof(box->words[0]);
}

/* No letter is in flight any more, because each copy has held the mailbox. */
static void mailbox_free(struct object *o)
{
    struct mailbox *box = (struct mailbox *)o;
    for (struct letter *l = box->letters, *next; l != NULL; l = next) {
        next = l->next;
        progress_put(l->progress);
        mem_free(l);
    }
    mem_free(box);
}

struct mailbox *mailbox_create(const uint32_t *words, uint32_t n,
                               uint32_t magic)
{
    size_t bytes = sizeof(struct mailbox) + n * sizeof(words[0]);
    struct mailbox *box = mem_alloc(bytes);
    if (box == NULL) {
        (void)error_nomem("mailbox", bytes);
        return NULL;
    }
    object_init(&box->object, mailbox_free);
    box->n = n;
    box->magic = magic;
    memcpy(box->words, words, mailbox_bytes_of(box));
    return box;
}

void mailbox_put(struct mailbox *box)
{
    if (box != NULL)
        object_put(&box->object);
}

/* Read the letters that have arrived, and mark them free. A failed queue drops
 * copies: their letters have no magic word. */
static void mailbox_collect(struct mailbox *box)
{
    for (struct letter *l = box->letters; l != NULL; l = l->next) {
        if (l->progress == NULL || !progress_reached(l->progress, l->position))
            continue;
        progress_put(l->progress);
        l->progress = NULL;
        if (l->words[box->magic] == box->words[box->magic] &&
            l->number > box->number) {
            memcpy(box->words, l->words, mailbox_bytes_of(box));
            box->number = l->number;
        }
    }
}

/* Return the letter to copy into from this queue: the newest in flight if there
 * are enough, otherwise a spare one or a new one. NULL: no memory. */
static struct letter *mailbox_choose(struct mailbox *box,
                                     struct progress *progress)
{
    struct letter *spare = NULL, *newest = NULL;
    int under_way = 0;
    for (struct letter *l = box->letters; l != NULL; l = l->next) {
        if (l->progress == NULL) {
            spare = l;
        } else if (l->progress == progress) {
            under_way++;
            if (newest == NULL || l->number > newest->number)
                newest = l;
        }
    }
    if (under_way >= UNDER_WAY)
        return newest; /* in order on its queue: the later copy wins */
    if (spare != NULL)
        return spare;
    struct letter *l = mem_alloc(sizeof(*l) + mailbox_bytes_of(box));
    if (l == NULL) {
        (void)error_nomem("mailbox", sizeof(*l) + mailbox_bytes_of(box));
        return NULL;
    }
    l->next = box->letters;
    box->letters = l;
    return l;
}

/* Enqueue the op, if there is one, and then the copy. */
static ssq_status enqueue_both(ssq_queue *queue, struct op *op, struct op *copy)
{
    if (op == NULL)
        return queue_enqueue(queue, copy);
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = queue_enqueue(queue, op);
    if (st == SSQ_OK)
        st = queue_enqueue(queue, copy);
    return queue_bundle_end(queue, st);
}

ssq_status mailbox_post(struct mailbox *box, ssq_queue *queue, struct op *op,
                        const ssq_tensor *block)
{
    bool recorded;
    ssq_status st = queue_recorded(queue, &recorded);
    if (st != SSQ_OK)
        return st;
    if (recorded) /* a letter could not be assigned to a launch */
        return op == NULL ? SSQ_OK : queue_enqueue(queue, op);
    mailbox_collect(box);
    struct progress *progress = queue_progress(queue);
    struct letter *l = mailbox_choose(box, progress);
    if (l == NULL) {
        progress_put(progress);
        return SSQ_ERR_NOMEM;
    }
    /* Until the copy has arrived, the letter lacks the magic word. A letter in
     * flight is not changed: the device may write it. */
    if (l->progress == NULL)
        l->words[box->magic] = 0;
    struct download_op copy = {.op = OP_HEADER(download, src),
                               .host = l->words,
                               .bytes = mailbox_bytes_of(box),
                               .src = tensor_view(block, ACCESS_READ)};
    copy.src.shape[0] = box->n;
    copy.op.keep = &box->object; /* keeps the letter until the copy is done */
    st = replay_pause(queue);    /* each post has another letter */
    if (st == SSQ_OK) {
        st = enqueue_both(queue, op, &copy.op);
        replay_resume(queue);
    }
    if (st != SSQ_OK) {
        progress_put(progress);
        return st;
    }
    progress_put(l->progress);
    l->progress = progress;
    l->position = queue_position(queue);
    l->number = ++box->posted;
    return SSQ_OK;
}

uint64_t mailbox_posted(const struct mailbox *box)
{
    return box->posted;
}

uint64_t mailbox_read(struct mailbox *box, uint32_t *words)
{
    mailbox_collect(box);
    memcpy(words, box->words, mailbox_bytes_of(box));
    return box->number;
}
