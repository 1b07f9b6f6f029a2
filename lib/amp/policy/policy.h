/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - the loss scale in a policy's text. */
#ifndef LIB_AMP_POLICY_POLICY_H
#define LIB_AMP_POLICY_POLICY_H

#include <sesqui/amp/policy.h>

/** The word loss_scale=... of a policy's text. */
enum policy_scale {
    POLICY_SCALE_DEFAULT = 0, /* missing: dynamic if the policy scales */
    POLICY_SCALE_NONE,
    POLICY_SCALE_DYNAMIC,
    POLICY_SCALE_STATIC /* ssq_policy.loss_scale has the number */
};

/** Read a policy's text, as ssq_policy_from_name. `what` begins errors. */
ssq_status policy_read(const char *what, const char *text, ssq_policy *policy,
                       enum policy_scale *scale);

/** Remove the words loss_scale=... from a policy's text, in place. The rest
 *  determines the dtypes of parameters and ops. */
void policy_drop_scale(char *text);

#endif
