/* SPDX-License-Identifier: Apache-2.0 */
/* params_names.c - names that are not in a set: similar names for error texts,
 * and whether a pass may create the parameter. */
#include "lib/core/base/nearest.h"
#include "lib/core/base/object.h"
#include "lib/tape/params.h"
#include "lib/tape/pattern.h"

#include <stdio.h>
#include <string.h>

/* ---- similar names ---- */

_Static_assert(NEAREST_NAME >= SSQ_PARAM_NAME, "every name is compared");

ssq_status params_unknown(const ssq_params *params, const char *what,
                          const char *name, const char *more)
{
    char question[NEAREST_QUESTION];
    struct nearest s = nearest_begin(name, strlen(name));
    for (size_t i = 0; i < params->n; i++)
        nearest_look(&s, params->at[i].name);
    nearest_question(&s, question);
    return error_set(SSQ_ERR_NOT_FOUND,
                     "%s: there is no \"%.100s\" among %zu parameters%s%s",
                     what, name, params->n, question, more);
}

/* ---- names that a pass may create ---- */

ssq_status params_may_make(const ssq_params *params, const char *name,
                           bool training)
{
    char more[160];
    if (training && params->closed == NULL)
        return SSQ_OK;
    if (params->allowed != NULL && pattern_matches(params->allowed, name, NULL))
        return SSQ_OK;
    snprintf(more, sizeof(more),
             "; a pass %s makes no parameters, except those that "
             "ssq_params_allow names",
             training ? params->closed : "for evaluation");
    return params_unknown(params, "var_param", name, more);
}

ssq_status ssq_params_allow(ssq_params *params, const char *pattern)
{
    static const char what[] = "params_allow";
    char *copy = NULL;
    if (params == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: params is NULL", what);
    if (pattern != NULL && (copy = mem_strdup(pattern)) == NULL)
        return error_nomem(what, strlen(pattern) + 1);
    mem_free(params->allowed);
    params->allowed = copy;
    return SSQ_OK;
}
