// SPDX-License-Identifier: Apache-2.0
/* error.h - a failed call of the library, as an exception that names the op,
 * the dtypes and the shapes. */
#ifndef SESQUI_TORCH_ERROR_H
#define SESQUI_TORCH_ERROR_H

#include <sesqui.h>

#include <exception>
#include <string>

namespace sesqui_torch
{

/* The device has no implementation for these operands: the op can run on the
 * CPU instead. Nothing has been written. */
struct Refused : std::exception {
    explicit Refused(std::string text) : text(std::move(text)) {}
    const char *what() const noexcept override { return text.c_str(); }
    std::string text;
};

/* Describes what runs in this thread, for the text of an error. */
class Context
{
  public:
    Context();
    virtual ~Context();
    Context(const Context &) = delete;
    virtual std::string describe() const = 0;
    /* True if the op can run on the CPU if the device refuses it. */
    virtual bool can_fall_back() const { return false; }
    static const Context *innermost();

  private:
    const Context *outer_;
};

[[noreturn]] void fail(ssq_status status);

/* Throw unless the status is SSQ_OK. */
inline void check(ssq_status status)
{
    if (__builtin_expect(status != SSQ_OK, 0))
        fail(status);
}

} // namespace sesqui_torch

#endif
