/* SPDX-License-Identifier: Apache-2.0 */
/* sesqui.hpp - the library in C++17 and later.
 *
 *     auto device = sesqui::device::open("auto");
 *     auto queue = sesqui::queue::create(device);
 *     auto x = sesqui::tensor::create(device, SSQ_F32, {2, 3});
 *     std::vector<float> host(6, -1.0f);
 *     x.write(queue, host);
 *     sesqui::relu(queue, SSQ_RELU(.x = x, .y = x));      // C++20
 *     x.read(queue, host);
 *     queue.sync();                                       // host has zeros
 *
 * Every call does what the C function of the same name does; the C headers have
 * the contracts. A class is one pointer. It can be moved, not copied, and
 * destroys its object. It converts to the pointer of C, so that all functions
 * and macros of C can be used with it, for example ssq_var_input(tape, x). The
 * pointer of a temporary is valid until the end of the full expression: if you
 * store it, for example in args.x, give the object a name.
 *
 * Arguments of ops are the structs and, in C++20, the macros of C. In C++17 set
 * members by name. The braces are necessary: without them some members have
 * no value.
 *
 *     ssq_gemm_args args{};
 *     args.a = a;
 *     ..
 *     sesqui::gemm(queue, args);
 *
 * Errors. A call that fails throws sesqui::error, which has the status and the
 * text. If SESQUI_NO_EXCEPTIONS is defined, or the compiler has no exceptions,
 * calls return ssq_status, and calls that make an object return a
 * sesqui::expected:
 *
 *     auto x = sesqui::tensor::create(device, SSQ_F32, {2, 3});
 *     if (!x)
 *         return x.error();       // the text is ssq_last_error()
 *     sesqui::relu(queue, args)   // an ssq_status that must be used
 *
 * Units of both kinds can be linked into one program. Their classes differ, so
 * neither can pass an object to the other: pass the pointer of C.
 *
 * This header includes neither <iostream> nor <string>. Calls are inline: with
 * SESQUI_NO_EXCEPTIONS the code is the same as that of the call in C. With
 * exceptions it also tests the status. */
#ifndef SESQUI_SESQUI_HPP
#define SESQUI_SESQUI_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <sesqui.h>

#if !defined(SESQUI_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define SESQUI_NO_EXCEPTIONS
#endif

/* The mode is in the linker's names: its calls return other types. */
#ifdef SESQUI_NO_EXCEPTIONS
#define SESQUI_NODISCARD [[nodiscard]]
#define SESQUI_MODE without_exceptions
#else
#define SESQUI_NODISCARD
#define SESQUI_MODE with_exceptions
#endif

namespace sesqui {
inline namespace SESQUI_MODE {

/* ---- errors ---- */

#ifdef SESQUI_NO_EXCEPTIONS

/** An object, or the status of the call that did not make it. */
template <class T> class expected
{
public:
    expected(T &&value) noexcept : value_(std::move(value)) {}
    expected(ssq_status status) noexcept : status_(status) {}
    /** Whether there is an object. */
    explicit operator bool() const noexcept { return status_ == SSQ_OK; }
    bool has_value() const noexcept { return status_ == SSQ_OK; }
    /** SSQ_OK if there is an object. */
    ssq_status error() const noexcept { return status_; }
    T &operator*() & noexcept { return value_; }
    const T &operator*() const & noexcept { return value_; }
    T &&operator*() && noexcept { return std::move(value_); }
    T *operator->() noexcept { return &value_; }
    const T *operator->() const noexcept { return &value_; }

private:
    T value_{};
    ssq_status status_ = SSQ_OK;
};

/** The result of a call: the status. */
using outcome = ssq_status;
/** The result of a call that makes a T. */
template <class T> using made = expected<T>;

inline ssq_status check(ssq_status status) noexcept { return status; }

template <class T> expected<T> give(ssq_status status, T &&value) noexcept
{
    return status == SSQ_OK ? expected<T>(std::move(value))
                            : expected<T>(status);
}

#else

/** A call has failed. */
class error : public std::exception
{
public:
    /** With the text of this thread's last failed call. */
    explicit error(ssq_status status) noexcept : status_(status)
    {
        (void)std::snprintf(text_, sizeof(text_), "%s: %s",
                            ssq_status_name(status), ssq_last_error());
    }
    ssq_status status() const noexcept { return status_; }
    const char *what() const noexcept override { return text_; }

private:
    ssq_status status_;
    char text_[1024];
};

/** The result of a call: nothing, because it throws on failure. */
using outcome = void;
/** The result of a call that makes a T. */
template <class T> using made = T;

/** Throw. It is not inline, so a call contains a test and a jump, no more. */
[[noreturn, gnu::cold, gnu::noinline]] inline void
throw_error(ssq_status status)
{
    throw error(status);
}

inline void check(ssq_status status)
{
    if (status != SSQ_OK)
        throw_error(status);
}

template <class T> T give(ssq_status status, T &&value)
{
    check(status);
    return std::move(value);
}

#endif

/* ---- handles ---- */

/** One pointer, which is destroyed at the end of its life. */
template <class C, void (*Destroy)(C **)> class handle
{
public:
    handle() noexcept = default;
    /** Take ownership of an object of C. */
    explicit handle(C *c) noexcept : c_(c) {}
    handle(handle &&other) noexcept : c_(other.release()) {}
    handle &operator=(handle &&other) noexcept
    {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    ~handle() { Destroy(&c_); }

    C *get() const noexcept { return c_; }
    operator C *() const noexcept { return c_; }
    /** Give up ownership. */
    C *release() noexcept { return std::exchange(c_, nullptr); }
    /** Destroy the object, and take ownership of another one. */
    void reset(C *c = nullptr) noexcept
    {
        Destroy(&c_);
        c_ = c;
    }

private:
    C *c_ = nullptr;
};

/* ---- dtypes ---- */

/** The dtype of a type of C++, for example SSQ_F32 of float. std::uint16_t is
 *  SSQ_U16: pass SSQ_F16 or SSQ_BF16 where it holds the bits of a float. */
template <class T> constexpr ssq_dtype dtype_of() noexcept
{
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>)
        return SSQ_F32;
    else if constexpr (std::is_same_v<U, double>)
        return SSQ_F64;
    else if constexpr (std::is_same_v<U, bool>)
        return SSQ_BOOL;
    else if constexpr (std::is_integral_v<U> && sizeof(U) == 1)
        return std::is_signed_v<U> ? SSQ_I8 : SSQ_U8;
    else if constexpr (std::is_integral_v<U> && sizeof(U) == 2)
        return std::is_signed_v<U> ? SSQ_I16 : SSQ_U16;
    else if constexpr (std::is_integral_v<U> && sizeof(U) == 4)
        return std::is_signed_v<U> ? SSQ_I32 : SSQ_U32;
    else {
        static_assert(std::is_integral_v<U> && sizeof(U) == 8 &&
                          std::is_signed_v<U>,
                      "no dtype of the library has this type");
        return SSQ_I64;
    }
}

/* ---- devices and queues ---- */

class device : public handle<ssq_device, ssq_device_close>
{
public:
    using handle::handle;
    static made<device> open(const char *name = "auto",
                             const ssq_device_options *options = nullptr)
    {
        ssq_device *d = nullptr;
        ssq_status st = ssq_device_open(name, options, &d);
        return give(st, device(d));
    }
    made<ssq_device_props> props() const
    {
        ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
        ssq_status st = ssq_device_props_get(get(), &p);
        return give(st, std::move(p));
    }
};

class event : public handle<ssq_event, ssq_event_destroy>
{
public:
    using handle::handle;
    static made<event> create(ssq_device *device)
    {
        ssq_event *e = nullptr;
        ssq_status st = ssq_event_create(device, &e);
        return give(st, event(e));
    }
    SESQUI_NODISCARD outcome record(ssq_queue *queue) const
    {
        return check(ssq_event_record(get(), queue));
    }
    SESQUI_NODISCARD outcome sync() const
    {
        return check(ssq_event_sync(get()));
    }
    /** Whether it was reached. */
    made<bool> query() const
    {
        ssq_status st = ssq_event_query(get());
        return give(st == SSQ_ERR_NOT_READY ? SSQ_OK : st, st == SSQ_OK);
    }
};

class queue : public handle<ssq_queue, ssq_queue_destroy>
{
public:
    using handle::handle;
    static made<queue> create(ssq_device *device,
                              const ssq_queue_options *options = nullptr)
    {
        ssq_queue *q = nullptr;
        ssq_status st = ssq_queue_create(device, options, &q);
        return give(st, queue(q));
    }
    SESQUI_NODISCARD outcome sync() const
    {
        return check(ssq_queue_sync(get()));
    }
    SESQUI_NODISCARD outcome wait(ssq_event *event) const
    {
        return check(ssq_queue_wait(get(), event));
    }
};

class graph : public handle<ssq_graph, ssq_graph_destroy>
{
public:
    using handle::handle;
    SESQUI_NODISCARD static outcome begin(ssq_queue *queue)
    {
        return check(ssq_graph_begin(queue));
    }
    static made<graph> end(ssq_queue *queue)
    {
        ssq_graph *g = nullptr;
        ssq_status st = ssq_graph_end(queue, &g);
        return give(st, graph(g));
    }
    SESQUI_NODISCARD outcome launch(ssq_queue *queue) const
    {
        return check(ssq_graph_launch(queue, get()));
    }
};

/* ---- tensors ---- */

class buffer : public handle<ssq_buffer, ssq_buffer_destroy>
{
public:
    using handle::handle;
    static made<buffer> create(ssq_device *device, std::uint64_t bytes)
    {
        ssq_buffer *b = nullptr;
        ssq_status st = ssq_buffer_create(device, bytes, &b);
        return give(st, buffer(b));
    }
};

class tensor : public handle<ssq_tensor, ssq_tensor_destroy>
{
public:
    using handle::handle;
    using sizes = std::initializer_list<std::int64_t>;

    static made<tensor> create(ssq_device *device, ssq_dtype dtype, sizes shape)
    {
        ssq_tensor *t = nullptr;
        ssq_status st = ssq_tensor_create(device, dtype, rank_of(shape),
                                          shape.begin(), &t);
        return give(st, tensor(t));
    }

    /** Create a tensor with the shape of an array, write the array to it, and
     *  wait for the queue: the array may be a temporary, or {1.0f, 2.0f}.
     *  @param dtype  of the tensor */
    template <class T, std::size_t N>
    static made<tensor>
    from_host(ssq_queue *queue, const T (&host)[N],
              ssq_dtype dtype = dtype_of<std::remove_all_extents_t<T>>())
    {
        using E = std::remove_all_extents_t<T>;
        ssq_tensor *t = nullptr;
        ssq_status st = create_as<T[N]>(
            ssq_queue_device(queue), dtype, &t,
            std::make_index_sequence<std::rank_v<T[N]>>());
        tensor x(t);
        if (st == SSQ_OK)
            st = ssq_tensor_write(queue, t, host, sizeof(host), dtype_of<E>());
        if (st == SSQ_OK)
            st = ssq_queue_sync(queue);
        return give(st, std::move(x));
    }

    ssq_dtype dtype() const noexcept { return ssq_tensor_dtype(get()); }
    int rank() const noexcept { return ssq_tensor_rank(get()); }
    std::int64_t size(int i) const noexcept
    {
        return ssq_tensor_size(get(), i);
    }
    std::int64_t elements() const noexcept
    {
        return ssq_tensor_elements(get());
    }

    /** Views share the memory. Each holds it, so they may outlive this tensor.
     */
    made<tensor> reshape(sizes shape) const
    {
        ssq_tensor *t = nullptr;
        ssq_status st =
            ssq_tensor_reshape(get(), rank_of(shape), shape.begin(), &t);
        return give(st, tensor(t));
    }
    made<tensor> slice(int axis, std::int64_t start, std::int64_t stop,
                       std::int64_t step = 1) const
    {
        ssq_tensor *t = nullptr;
        ssq_status st = ssq_tensor_slice(get(), axis, start, stop, step, &t);
        return give(st, tensor(t));
    }
    /** With all dimensions reversed. */
    made<tensor> transpose() const
    {
        ssq_tensor *t = nullptr;
        ssq_status st = ssq_tensor_transpose(get(), nullptr, &t);
        return give(st, tensor(t));
    }
    /** axes must have one entry for each dimension. */
    made<tensor> transpose(std::initializer_list<int> axes) const
    {
        ssq_tensor *t = nullptr;
        ssq_status st;
        if (get() != nullptr &&
            axes.size() != static_cast<std::size_t>(rank())) {
            char text[80];
            (void)std::snprintf(text, sizeof(text),
                                "tensor_transpose: %zu axes (expected %d)",
                                axes.size(), rank());
            st = ssq_error_set(SSQ_ERR_INVALID, text);
        } else
            st = ssq_tensor_transpose(get(), axes.begin(), &t);
        return give(st, tensor(t));
    }
    made<tensor> broadcast(sizes shape) const
    {
        ssq_tensor *t = nullptr;
        ssq_status st =
            ssq_tensor_broadcast(get(), rank_of(shape), shape.begin(), &t);
        return give(st, tensor(t));
    }

    /** Write from n elements, an array, or a container with data() and size().
     *  The elements must stay as they are until the queue has been synced. So a
     *  temporary and a list in braces do not compile: give them a name. If it
     *  is a view, such as std::span, you can pass its data() and size(). */
    template <class T>
    SESQUI_NODISCARD outcome write(ssq_queue *queue, const T *host,
                                   std::size_t n) const
    {
        return check(ssq_tensor_write(queue, get(), host, n * sizeof(T),
                                      dtype_of<T>()));
    }
    template <class T, std::size_t N>
    SESQUI_NODISCARD outcome write(ssq_queue *queue, const T (&host)[N]) const
    {
        using E = std::remove_all_extents_t<T>;
        return check(ssq_tensor_write(queue, get(), host, sizeof(host),
                                      dtype_of<E>()));
    }
    template <class Container>
    SESQUI_NODISCARD auto write(ssq_queue *queue, const Container &host) const
        -> decltype(host.data(), host.size(), check(SSQ_OK))
    {
        return write(queue, host.data(), host.size());
    }
    template <class Temporary>
    void write(ssq_queue *queue, const Temporary &&host) const = delete;
    template <class T>
    void write(ssq_queue *queue, std::initializer_list<T> host) const = delete;

    /** Read into n elements, an array, or a container. They have the values
     *  when the queue has been synced. */
    template <class T>
    SESQUI_NODISCARD outcome read(ssq_queue *queue, T *host,
                                  std::size_t n) const
    {
        return check(
            ssq_tensor_read(queue, get(), host, n * sizeof(T), dtype_of<T>()));
    }
    template <class T, std::size_t N>
    SESQUI_NODISCARD outcome read(ssq_queue *queue, T (&host)[N]) const
    {
        using E = std::remove_all_extents_t<T>;
        return check(ssq_tensor_read(queue, get(), host, sizeof(host),
                                     dtype_of<E>()));
    }
    template <class Container>
    SESQUI_NODISCARD auto read(ssq_queue *queue, Container &host) const
        -> decltype(host.data(), host.size(), check(SSQ_OK))
    {
        return read(queue, host.data(), host.size());
    }

private:
    static int rank_of(sizes shape) noexcept
    {
        return static_cast<int>(shape.size());
    }
    template <class Array, std::size_t... Axis>
    static ssq_status create_as(ssq_device *device, ssq_dtype dtype,
                                ssq_tensor **t, std::index_sequence<Axis...>)
    {
        const std::int64_t shape[] = {std::extent_v<Array, Axis>...};
        return ssq_tensor_create(device, dtype, sizeof...(Axis), shape, t);
    }
};

/* ---- mixed precision ---- */

class scaler : public handle<ssq_scaler, ssq_scaler_destroy>
{
public:
    using handle::handle;
    static made<scaler> create(ssq_device *device,
                               const char *preset = "sesqui",
                               const ssq_scaler_options *options = nullptr)
    {
        ssq_scaler *s = nullptr;
        ssq_status st = ssq_scaler_create(device, preset, options, &s);
        return give(st, scaler(s));
    }
    const ssq_tensor *scale() const noexcept
    {
        return ssq_scaler_scale_tensor(get());
    }
    SESQUI_NODISCARD outcome update(ssq_queue *queue) const
    {
        return check(ssq_scaler_update(queue, get()));
    }
};

class optimizer : public handle<ssq_optimizer, ssq_optimizer_destroy>
{
public:
    using handle::handle;
    static made<optimizer>
    create(ssq_device *device, const char *kind,
           const ssq_optimizer_options *options = nullptr)
    {
        ssq_optimizer *o = nullptr;
        ssq_status st = ssq_optimizer_create(device, kind, options, &o);
        return give(st, optimizer(o));
    }
    SESQUI_NODISCARD outcome add(const char *name, const ssq_tensor *param,
                                 const ssq_tensor *grad,
                                 ssq_group *group = nullptr) const
    {
        return check(ssq_optimizer_add(get(), name, param, grad, group));
    }
    SESQUI_NODISCARD outcome step(ssq_queue *queue,
                                  ssq_scaler *scaler = nullptr) const
    {
        return check(ssq_optimizer_step(queue, get(), scaler));
    }
    SESQUI_NODISCARD outcome zero_grad(ssq_queue *queue) const
    {
        return check(ssq_optimizer_zero_grad(queue, get()));
    }
};

/* ---- parameters ---- */

/** The parameters of a set, in order of creation:
 *  for (ssq_param_info p : sesqui::parameters(set)) .. */
class parameters
{
public:
    class iterator
    {
    public:
        iterator(const ssq_params *set, std::size_t i) noexcept
            : set_(set), i_(i)
        {
        }
        ssq_param_info operator*() const noexcept
        {
            ssq_param_info info = SSQ_PARAM_INFO_INIT;
            if (ssq_params_get(set_, i_, &info) != SSQ_OK)
                info.name = ""; /* removed since the loop began */
            return info;
        }
        iterator &operator++() noexcept
        {
            i_++;
            return *this;
        }
        bool operator!=(const iterator &other) const noexcept
        {
            return i_ != other.i_;
        }

    private:
        const ssq_params *set_;
        std::size_t i_;
    };

    explicit parameters(const ssq_params *set) noexcept : set_(set) {}
    iterator begin() const noexcept { return {set_, 0}; }
    iterator end() const noexcept { return {set_, size()}; }
    std::size_t size() const noexcept { return ssq_params_count(set_); }

private:
    const ssq_params *set_;
};

class params : public handle<ssq_params, ssq_params_destroy>
{
public:
    using handle::handle;
    static made<params> create(ssq_device *device, const char *policy = nullptr,
                               const ssq_params_options *options = nullptr)
    {
        ssq_params *p = nullptr;
        ssq_status st = ssq_params_create(device, policy, options, &p);
        return give(st, params(p));
    }
    parameters::iterator begin() const noexcept
    {
        return parameters(get()).begin();
    }
    parameters::iterator end() const noexcept
    {
        return parameters(get()).end();
    }
};

/* ---- tapes and trainers ---- */

/** A value on a tape. The functions of vars.h and nn.h are macros of C, which
 *  pass the program's line: sesqui::var y = ssq_relu_var(x); */
using var = ssq_var;

class tape : public handle<ssq_tape, ssq_tape_destroy>
{
public:
    using handle::handle;
    static made<tape> create(ssq_queue *queue, ssq_params *params)
    {
        ssq_tape *t = nullptr;
        ssq_status st = ssq_tape_create(queue, params, &t);
        return give(st, tape(t));
    }
    void begin(bool training) const noexcept
    {
        ssq_tape_begin(get(), training);
    }
    SESQUI_NODISCARD outcome status() const
    {
        return check(ssq_tape_status(get()));
    }
    SESQUI_NODISCARD outcome backward(var loss,
                                      ssq_scaler *scaler = nullptr) const
    {
        return check(ssq_tape_backward(get(), loss, scaler));
    }
};

/** Prefix the names of parameters with a name and a dot, until the end of the
 *  block: sesqui::scope block(tape, "block3"); */
class scope
{
public:
    scope(ssq_tape *tape, const char *name) noexcept : tape_(tape)
    {
        ssq_tape_push(tape, name);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    ~scope() { ssq_tape_pop(tape_); }

private:
    ssq_tape *tape_;
};

class trainer : public handle<ssq_trainer, ssq_trainer_destroy>
{
public:
    using handle::handle;
    static made<trainer> create(ssq_queue *queue,
                                const ssq_trainer_args *args = nullptr)
    {
        ssq_trainer *t = nullptr;
        ssq_status st = ssq_trainer_create(queue, args, &t);
        return give(st, trainer(t));
    }
    static made<trainer> create(ssq_queue *queue, const ssq_trainer_args &args)
    {
        return create(queue, &args);
    }
    /** The tape of a pass for training, and of one for evaluation. */
    ssq_tape *begin() const noexcept { return ssq_trainer_begin(get()); }
    ssq_tape *evaluate() const noexcept { return ssq_trainer_evaluate(get()); }
    SESQUI_NODISCARD outcome step(var loss) const
    {
        return check(ssq_trainer_step(get(), loss));
    }
    made<double> loss() const
    {
        double mean = 0.0;
        ssq_status st = ssq_trainer_loss(get(), &mean);
        return give(st, std::move(mean));
    }
    SESQUI_NODISCARD outcome end() const
    {
        return check(ssq_trainer_end(get()));
    }
    SESQUI_NODISCARD outcome save(const char *path) const
    {
        return check(ssq_trainer_save(get(), path));
    }
    SESQUI_NODISCARD outcome load(const char *path) const
    {
        return check(ssq_trainer_load(get(), path));
    }
    sesqui::parameters parameters() const noexcept
    {
        return sesqui::parameters(ssq_trainer_params(get()));
    }
};

/** A rank of a communicator. Functions of comm.h make it. */
class comm : public handle<ssq_comm, ssq_comm_destroy>
{
public:
    using handle::handle;
};

/* ---- ops ---- */

/** sesqui::gemm(queue, args) is ssq_gemm(queue, &args). args may be a pointer,
 *  as SSQ_GEMM(..) is. `make hpp` writes the list, which has every function of
 *  ops.h that takes a queue and a struct. */
#define SESQUI_OP(NAME, ARGS)                                                  \
    SESQUI_NODISCARD inline outcome NAME(ssq_queue *queue, const ARGS *args)   \
    {                                                                          \
        return check(ssq_##NAME(queue, args));                                 \
    }                                                                          \
    SESQUI_NODISCARD inline outcome NAME(ssq_queue *queue, const ARGS &args)   \
    {                                                                          \
        return check(ssq_##NAME(queue, &args));                                \
    }
SESQUI_OP(attention, ssq_attention_args)
SESQUI_OP(attention_backward, ssq_attention_backward_args)
SESQUI_OP(rotary, ssq_rotary_args)
SESQUI_OP(rotary_backward, ssq_rotary_backward_args)
SESQUI_OP(batch_norm, ssq_batch_norm_args)
SESQUI_OP(batch_norm_backward, ssq_batch_norm_backward_args)
SESQUI_OP(group_norm, ssq_group_norm_args)
SESQUI_OP(group_norm_backward, ssq_group_norm_backward_args)
SESQUI_OP(add, ssq_binary_args)
SESQUI_OP(sub, ssq_binary_args)
SESQUI_OP(mul, ssq_binary_args)
SESQUI_OP(div, ssq_binary_args)
SESQUI_OP(maximum, ssq_binary_args)
SESQUI_OP(minimum, ssq_binary_args)
SESQUI_OP(pow, ssq_binary_args)
SESQUI_OP(axpby, ssq_axpby_args)
SESQUI_OP(add_backward, ssq_binary_backward_args)
SESQUI_OP(sub_backward, ssq_binary_backward_args)
SESQUI_OP(mul_backward, ssq_binary_backward_args)
SESQUI_OP(div_backward, ssq_binary_backward_args)
SESQUI_OP(maximum_backward, ssq_binary_backward_args)
SESQUI_OP(minimum_backward, ssq_binary_backward_args)
SESQUI_OP(pow_backward, ssq_binary_backward_args)
SESQUI_OP(eq, ssq_compare_args)
SESQUI_OP(ne, ssq_compare_args)
SESQUI_OP(lt, ssq_compare_args)
SESQUI_OP(le, ssq_compare_args)
SESQUI_OP(gt, ssq_compare_args)
SESQUI_OP(ge, ssq_compare_args)
SESQUI_OP(where, ssq_where_args)
SESQUI_OP(glu, ssq_glu_args)
SESQUI_OP(glu_backward, ssq_glu_backward_args)
SESQUI_OP(conv2d, ssq_conv2d_args)
SESQUI_OP(conv2d_backward_data, ssq_conv2d_backward_data_args)
SESQUI_OP(conv2d_backward_weight, ssq_conv2d_backward_weight_args)
SESQUI_OP(conv_transpose2d, ssq_conv_transpose2d_args)
SESQUI_OP(conv_transpose2d_backward_data,
          ssq_conv_transpose2d_backward_data_args)
SESQUI_OP(conv_transpose2d_backward_weight,
          ssq_conv_transpose2d_backward_weight_args)
SESQUI_OP(fill, ssq_fill_args)
SESQUI_OP(copy, ssq_copy_args)
SESQUI_OP(cast, ssq_cast_args)
SESQUI_OP(transpose, ssq_transpose_args)
SESQUI_OP(concat, ssq_concat_args)
SESQUI_OP(slice_assign, ssq_slice_assign_args)
SESQUI_OP(gather_rows, ssq_gather_rows_args)
SESQUI_OP(scatter_add_rows, ssq_scatter_add_rows_args)
SESQUI_OP(one_hot, ssq_one_hot_args)
SESQUI_OP(index_check, ssq_index_check_args)
SESQUI_OP(relu, ssq_unary_args)
SESQUI_OP(relu_backward, ssq_unary_backward_args)
SESQUI_OP(leaky_relu, ssq_leaky_relu_args)
SESQUI_OP(leaky_relu_backward, ssq_leaky_relu_backward_args)
SESQUI_OP(elu, ssq_elu_args)
SESQUI_OP(elu_backward, ssq_elu_backward_args)
SESQUI_OP(gelu, ssq_unary_args)
SESQUI_OP(gelu_backward, ssq_unary_backward_args)
SESQUI_OP(gelu_tanh, ssq_unary_args)
SESQUI_OP(gelu_tanh_backward, ssq_unary_backward_args)
SESQUI_OP(silu, ssq_unary_args)
SESQUI_OP(silu_backward, ssq_unary_backward_args)
SESQUI_OP(sigmoid, ssq_unary_args)
SESQUI_OP(sigmoid_backward, ssq_unary_backward_args)
SESQUI_OP(tanh, ssq_unary_args)
SESQUI_OP(tanh_backward, ssq_unary_backward_args)
SESQUI_OP(softsign, ssq_unary_args)
SESQUI_OP(softsign_backward, ssq_unary_backward_args)
SESQUI_OP(softplus, ssq_softplus_args)
SESQUI_OP(softplus_backward, ssq_softplus_backward_args)
SESQUI_OP(exp, ssq_unary_args)
SESQUI_OP(exp_backward, ssq_unary_backward_args)
SESQUI_OP(log, ssq_unary_args)
SESQUI_OP(log_backward, ssq_unary_backward_args)
SESQUI_OP(sqrt, ssq_unary_args)
SESQUI_OP(sqrt_backward, ssq_unary_backward_args)
SESQUI_OP(rsqrt, ssq_unary_args)
SESQUI_OP(rsqrt_backward, ssq_unary_backward_args)
SESQUI_OP(reciprocal, ssq_unary_args)
SESQUI_OP(reciprocal_backward, ssq_unary_backward_args)
SESQUI_OP(abs, ssq_unary_args)
SESQUI_OP(abs_backward, ssq_unary_backward_args)
SESQUI_OP(neg, ssq_unary_args)
SESQUI_OP(neg_backward, ssq_unary_backward_args)
SESQUI_OP(erf, ssq_unary_args)
SESQUI_OP(erf_backward, ssq_unary_backward_args)
SESQUI_OP(sin, ssq_unary_args)
SESQUI_OP(sin_backward, ssq_unary_backward_args)
SESQUI_OP(cos, ssq_unary_args)
SESQUI_OP(cos_backward, ssq_unary_backward_args)
SESQUI_OP(log1p, ssq_unary_args)
SESQUI_OP(log1p_backward, ssq_unary_backward_args)
SESQUI_OP(expm1, ssq_unary_args)
SESQUI_OP(expm1_backward, ssq_unary_backward_args)
SESQUI_OP(square, ssq_unary_args)
SESQUI_OP(square_backward, ssq_unary_backward_args)
SESQUI_OP(sign, ssq_unary_args)
SESQUI_OP(floor, ssq_unary_args)
SESQUI_OP(ceil, ssq_unary_args)
SESQUI_OP(round, ssq_unary_args)
SESQUI_OP(isnan, ssq_unary_args)
SESQUI_OP(isinf, ssq_unary_args)
SESQUI_OP(isfinite, ssq_unary_args)
SESQUI_OP(clamp, ssq_clamp_args)
SESQUI_OP(clamp_backward, ssq_clamp_backward_args)
SESQUI_OP(scale, ssq_scale_args)
SESQUI_OP(gemm, ssq_gemm_args)
SESQUI_OP(gemm_batched, ssq_gemm_args)
SESQUI_OP(cross_entropy, ssq_cross_entropy_args)
SESQUI_OP(nll_loss, ssq_nll_loss_args)
SESQUI_OP(mse, ssq_mse_args)
SESQUI_OP(l1, ssq_l1_args)
SESQUI_OP(smooth_l1, ssq_smooth_l1_args)
SESQUI_OP(huber, ssq_huber_args)
SESQUI_OP(bce_with_logits, ssq_bce_with_logits_args)
SESQUI_OP(top_k_accuracy, ssq_top_k_accuracy_args)
SESQUI_OP(perplexity, ssq_perplexity_args)
SESQUI_OP(layer_norm, ssq_layer_norm_args)
SESQUI_OP(layer_norm_backward, ssq_layer_norm_backward_args)
SESQUI_OP(rms_norm, ssq_rms_norm_args)
SESQUI_OP(rms_norm_backward, ssq_rms_norm_backward_args)
SESQUI_OP(max_pool2d, ssq_max_pool2d_args)
SESQUI_OP(max_pool2d_backward, ssq_max_pool2d_backward_args)
SESQUI_OP(avg_pool2d, ssq_avg_pool2d_args)
SESQUI_OP(avg_pool2d_backward, ssq_avg_pool2d_backward_args)
SESQUI_OP(global_avg_pool2d, ssq_global_avg_pool2d_args)
SESQUI_OP(global_avg_pool2d_backward, ssq_global_avg_pool2d_backward_args)
SESQUI_OP(random_uniform, ssq_random_uniform_args)
SESQUI_OP(random_normal, ssq_random_normal_args)
SESQUI_OP(random_truncated_normal, ssq_random_truncated_normal_args)
SESQUI_OP(random_bernoulli, ssq_random_bernoulli_args)
SESQUI_OP(dropout, ssq_dropout_args)
SESQUI_OP(dropout_backward, ssq_dropout_backward_args)
SESQUI_OP(init, ssq_init_args)
SESQUI_OP(sum, ssq_sum_args)
SESQUI_OP(mean, ssq_mean_args)
SESQUI_OP(prod, ssq_prod_args)
SESQUI_OP(max, ssq_max_args)
SESQUI_OP(min, ssq_min_args)
SESQUI_OP(argmax, ssq_argmax_args)
SESQUI_OP(argmin, ssq_argmin_args)
SESQUI_OP(norm, ssq_norm_args)
SESQUI_OP(sum_backward, ssq_sum_backward_args)
SESQUI_OP(mean_backward, ssq_mean_backward_args)
SESQUI_OP(max_backward, ssq_max_backward_args)
SESQUI_OP(sum_to, ssq_sum_to_args)
SESQUI_OP(lstm_cell, ssq_lstm_cell_args)
SESQUI_OP(lstm_cell_backward, ssq_lstm_cell_backward_args)
SESQUI_OP(gru_cell, ssq_gru_cell_args)
SESQUI_OP(gru_cell_backward, ssq_gru_cell_backward_args)
SESQUI_OP(gru_reset, ssq_gru_reset_args)
SESQUI_OP(gru_reset_backward, ssq_gru_reset_backward_args)
SESQUI_OP(lstm, ssq_lstm_args)
SESQUI_OP(lstm_backward, ssq_lstm_backward_args)
SESQUI_OP(gru, ssq_gru_args)
SESQUI_OP(gru_backward, ssq_gru_backward_args)
SESQUI_OP(softmax, ssq_softmax_args)
SESQUI_OP(log_softmax, ssq_log_softmax_args)
SESQUI_OP(softmax_backward, ssq_softmax_backward_args)
SESQUI_OP(log_softmax_backward, ssq_log_softmax_backward_args)
#undef SESQUI_OP

} // namespace SESQUI_MODE
} // namespace sesqui

#endif
