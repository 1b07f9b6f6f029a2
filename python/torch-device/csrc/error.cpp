// SPDX-License-Identifier: Apache-2.0
/* error.cpp - a failed call of the library, as an exception. */
#include "error.h"

#include <c10/util/Exception.h>

namespace sesqui_torch
{

static thread_local const Context *innermost_context;

Context::Context() : outer_(innermost_context)
{
    innermost_context = this;
}

Context::~Context()
{
    innermost_context = outer_;
}

const Context *Context::innermost()
{
    return innermost_context;
}

void fail(ssq_status status)
{
    std::string text = ssq_last_error();
    const Context *context = Context::innermost();
    if (status == SSQ_ERR_UNSUPPORTED && context != nullptr &&
        context->can_fall_back())
        throw Refused(text);
    std::string where = context != nullptr ? context->describe() : "";
    std::string all = "sesqui: " + where + (where.empty() ? "" : ": ") + text +
                      " (" + ssq_status_name(status) + ")";
    if (status == SSQ_ERR_NOMEM)
        TORCH_CHECK_WITH(OutOfMemoryError, false, all);
    TORCH_CHECK(false, all);
}

} // namespace sesqui_torch
