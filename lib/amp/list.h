/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - the operands of ops over many tensors. */
#ifndef LIB_AMP_LIST_H
#define LIB_AMP_LIST_H

#include "lib/core.h"

/** n absent views; one reference, drop it with object_put(&l->object). NULL:
 *  no memory, the text is set. what begins it. */
struct view_list *list_create(size_t n, const char *what);
/** View i becomes v with an access; its buffer gets a reference. */
void list_set(struct view_list *list, size_t i, const struct view *v,
              enum access access);

#endif
