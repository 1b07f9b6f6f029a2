// SPDX-License-Identifier: Apache-2.0
/* call.cpp - ops of PyTorch as functions over their arguments. */
#include "call.h"

#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <sstream>

namespace sesqui_torch
{

Call::Call(const c10::OperatorHandle &op, torch::jit::Stack &stack, bool mixed)
    : op_(op), stack_(stack), n_(op.schema().arguments().size()),
      args_(stack.data() + stack.size() - n_)
{
    device_find(mixed);
    lane_.emplace(device_.index());
    device_ = c10::Device(device_type, lane_->device.index());
}

void Call::device_add(const Tensor &x, bool mixed, const Tensor **other)
{
    if (!x.defined())
        return;
    if (!is_here(x)) {
        bool scalar = x.dim() == 0 && x.is_cpu();
        if (!scalar && !mixed)
            *other = &x;
        return;
    }
    if (!device_.has_index())
        device_ = x.device();
    else if (x.device() != device_)
        *other = &x;
}

void Call::device_find(bool mixed)
{
    const Tensor *other = nullptr;
    for (size_t i = 0; i < n_; i++) {
        const c10::IValue &v = args_[i];
        if (v.isTensor()) {
            device_add(v.toTensor(), mixed, &other);
        } else if (v.isTensorList()) {
            for (const Tensor &x : v.toTensorList())
                device_add(x, mixed, &other);
        }
    }
    TORCH_CHECK(other == nullptr,
                "Expected all tensors to be on the same device, but found at "
                "least two devices, ", device_, " and ", other->device(), ": ",
                describe());
}

const Tensor &Call::out(size_t i, Ints sizes)
{
    const Tensor &y = tensor(i);
    at::native::resize_output(y, sizes);
    return y;
}

void Call::result(Tensor y)
{
    torch::jit::drop(stack_, n_);
    stack_.emplace_back(std::move(y));
}

void Call::value(c10::IValue v)
{
    torch::jit::drop(stack_, n_);
    stack_.push_back(std::move(v));
}

void Call::values(torch::jit::Stack vs)
{
    torch::jit::drop(stack_, n_);
    for (c10::IValue &v : vs)
        stack_.push_back(std::move(v));
}

void Call::results(std::initializer_list<Tensor> ys)
{
    torch::jit::drop(stack_, n_);
    for (const Tensor &y : ys)
        stack_.emplace_back(y);
}

void Call::result_of(std::initializer_list<size_t> arguments)
{
    c10::SmallVector<c10::IValue, 4> kept;
    for (size_t i : arguments)
        kept.push_back(args_[i]);
    torch::jit::drop(stack_, n_);
    for (c10::IValue &v : kept)
        stack_.push_back(std::move(v));
}

const std::string &Call::name() const
{
    return op_.schema().name();
}

static void describe_value(std::ostream &s, const c10::IValue &v)
{
    if (v.isTensor()) {
        s << described(v.toTensor());
    } else if (v.isTensorList()) {
        s << "(";
        const char *comma = "";
        size_t left = 4;
        for (const Tensor &x : v.toTensorVector()) {
            if (left-- == 0) {
                s << ", ...";
                break;
            }
            s << comma << described(x);
            comma = ", ";
        }
        s << ")";
    } else if (!v.isGenerator()) {
        s << v;
    }
}

std::string call_describe(const c10::OperatorHandle &op,
                          const torch::jit::Stack &stack)
{
    std::ostringstream s;
    const auto &arguments = op.schema().arguments();
    const c10::IValue *values = stack.data() + stack.size() - arguments.size();
    const char *comma = "";
    s << op.operator_name() << "(";
    for (size_t i = 0; i < arguments.size(); i++) {
        if (values[i].isNone())
            continue;
        s << comma << arguments[i].name() << " ";
        describe_value(s, values[i]);
        comma = ", ";
    }
    s << ")";
    return s.str();
}

std::string Call::describe() const
{
    return call_describe(op_, stack_);
}

namespace
{
struct Native final : c10::OperatorKernel {
    Native(Body body, bool mixed) : body(std::move(body)), mixed(mixed) {}
    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                    torch::jit::Stack *stack)
    {
        try {
            Call call(op, *stack, mixed);
            if (body(call))
                return;
        } catch (const Refused &) {
        }
        fallback(op, keys, stack);
    }
    Body body;
    bool mixed;
};
} // namespace

static std::vector<std::string> &native_list()
{
    static auto *list = new std::vector<std::string>;
    return *list;
}

const std::vector<std::string> &native_ops()
{
    return native_list();
}

void op(torch::Library &m, const char *name, Body body, bool mixed)
{
    native_list().push_back(name);
    m.impl(name, torch::CppFunction::makeFromBoxedFunctor(
                     std::make_unique<Native>(std::move(body), mixed)));
}

} // namespace sesqui_torch
