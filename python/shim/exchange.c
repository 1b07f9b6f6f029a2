/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - the C exchange API of DLPack 1.3 for sesqui.Tensor.
 *
 * Other libraries find it as the capsule `__dlpack_c_exchange_api__` of the
 * type, and exchange tensors without a call in Python. It is optional: without
 * it they use Tensor.__dlpack__.
 *
 * The module links no library. Python gives it the addresses of the library's
 * functions. It uses the limited API of Python 3.10, so one file serves all
 * later versions. */
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include <sesqui/dlpack.h>

static struct {
    ssq_status (*create)(ssq_device *, ssq_dtype, int, const int64_t *,
                         ssq_tensor **);
    void (*destroy)(ssq_tensor **);
    ssq_status (*to_dlpack)(const ssq_tensor *, const ssq_to_dlpack_args *,
                            DLManagedTensorVersioned **);
    ssq_status (*args_init)(ssq_to_dlpack_args *, size_t);
    const char *(*last_error)(void);
    /* functions in Python */
    PyObject *cpu;          /* opens the device of the allocator */
    PyObject *from_address; /* makes a Tensor of a struct's address */
    PyObject *note_export;  /* remembers the queue of a CUDA tensor */
    PyObject *stream;       /* returns the stream of a CUDA device */
} library;

/* Export a tensor. 0, or -1 after setting an exception. */
static int export_tensor(const ssq_tensor *tensor,
                         DLManagedTensorVersioned **out)
{
    ssq_to_dlpack_args args;
    if (library.args_init(&args, sizeof(args)) == SSQ_OK &&
        library.to_dlpack(tensor, &args, out) == SSQ_OK)
        return 0;
    PyErr_SetString(PyExc_BufferError, library.last_error());
    return -1;
}

/* The handle of a Tensor: its attribute _handle is a ctypes.c_void_p. */
static const ssq_tensor *handle_of(PyObject *object)
{
    PyObject *handle = PyObject_GetAttrString(object, "_handle");
    PyObject *value =
        handle == NULL ? NULL : PyObject_GetAttrString(handle, "value");
    const ssq_tensor *tensor =
        value == NULL ? NULL : (const ssq_tensor *)PyLong_AsVoidPtr(value);
    Py_XDECREF(handle);
    Py_XDECREF(value);
    if (tensor == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "expected a sesqui.Tensor");
    return tensor;
}

static int from_object(void *object, DLManagedTensorVersioned **out)
{
    const ssq_tensor *tensor = handle_of(object);
    if (tensor == NULL || export_tensor(tensor, out) != 0)
        return -1;
    if ((*out)->dl_tensor.device.device_type != kDLCUDA)
        return 0;
    PyObject *none =
        PyObject_CallFunction(library.note_export, "O", (PyObject *)object);
    if (none == NULL)
        (*out)->deleter(*out);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

static int to_object(DLManagedTensorVersioned *dl, void **out)
{
    PyObject *made = PyObject_CallFunction(library.from_address, "K",
                                           (unsigned long long)(uintptr_t)dl);
    *out = made;
    return made == NULL ? -1 : 0;
}

static ssq_dtype dtype_of(DLDataType t)
{
    if (t.lanes != 1)
        return 0;
    if (t.code == kDLFloat && (t.bits == 32 || t.bits == 16))
        return t.bits == 32 ? SSQ_F32 : SSQ_F16;
    if (t.code == kDLBfloat && t.bits == 16)
        return SSQ_BF16;
    if (t.code == kDLInt && t.bits == 32)
        return SSQ_I32;
    return t.code == kDLUInt && t.bits == 8 ? SSQ_U8 : 0;
}

/* The device "cpu", which Python opens at the first use. NULL: it cannot. */
static ssq_device *cpu(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *made = PyObject_CallFunction(library.cpu, NULL);
    ssq_device *device =
        made == NULL ? NULL : (ssq_device *)PyLong_AsVoidPtr(made);
    PyErr_Clear();
    Py_XDECREF(made);
    PyGILState_Release(state);
    return device;
}

/* Called without the GIL, so errors go to set_error. */
static int allocate(DLTensor *like, DLManagedTensorVersioned **out, void *user,
                    void (*set_error)(void *, const char *, const char *))
{
    ssq_dtype dtype = dtype_of(like->dtype);
    ssq_tensor *tensor = NULL;
    ssq_to_dlpack_args args;
    if (like->device.device_type != kDLCPU || dtype == 0) {
        set_error(user, "BufferError",
                  "sesqui: allocates float 32 and 16, bfloat 16, int 32 and "
                  "uint 8 in host memory");
        return -1;
    }
    bool good = library.create(cpu(), dtype, like->ndim, like->shape,
                               &tensor) == SSQ_OK &&
                library.args_init(&args, sizeof(args)) == SSQ_OK &&
                library.to_dlpack(tensor, &args, out) == SSQ_OK;
    if (!good)
        set_error(user, "MemoryError", library.last_error());
    library.destroy(&tensor); /* the struct holds the memory */
    return good ? 0 : -1;
}

/* Only CUDA has streams. An export does not wait for the queue, so the consumer
 * must work on the queue's stream. Called with the GIL. */
static int work_stream(DLDeviceType type, int32_t id, void **out)
{
    *out = NULL;
    if (type != kDLCUDA)
        return 0;
    PyObject *stream = PyObject_CallFunction(library.stream, "i", (int)id);
    if (stream != NULL)
        *out = PyLong_AsVoidPtr(stream);
    Py_XDECREF(stream);
    return PyErr_Occurred() == NULL ? 0 : -1;
}

static DLPackExchangeAPI api = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}},
    .managed_tensor_allocator = allocate,
    .managed_tensor_from_py_object_no_sync = from_object,
    .managed_tensor_to_py_object_no_sync = to_object,
    .current_work_stream = work_stream};

static void replace(PyObject **at, PyObject *object)
{
    PyObject *before = *at;
    Py_INCREF(object);
    *at = object;
    Py_XDECREF(before);
}

/* install(type, addresses, cpu, from_address, note_export, stream): the capsule
 * for a type. addresses: create, destroy, to_dlpack, args_init and last_error.
 */
static PyObject *install(PyObject *self, PyObject *args)
{
    PyObject *type, *open_cpu, *from_address, *note_export, *stream;
    unsigned long long at[5];
    (void)self;
    if (!PyArg_ParseTuple(args, "O(KKKKK)OOOO", &type, &at[0], &at[1], &at[2],
                          &at[3], &at[4], &open_cpu, &from_address,
                          &note_export, &stream))
        return NULL;
    void *functions[5];
    for (int i = 0; i < 5; i++)
        functions[i] = (void *)(uintptr_t)at[i];
    memcpy(&library.create, &functions[0], sizeof(void *));
    memcpy(&library.destroy, &functions[1], sizeof(void *));
    memcpy(&library.to_dlpack, &functions[2], sizeof(void *));
    memcpy(&library.args_init, &functions[3], sizeof(void *));
    memcpy(&library.last_error, &functions[4], sizeof(void *));
    replace(&library.cpu, open_cpu);
    replace(&library.from_address, from_address);
    replace(&library.note_export, note_export);
    replace(&library.stream, stream);
    PyObject *capsule = PyCapsule_New(&api, "dlpack_exchange_api", NULL);
    if (capsule == NULL)
        return NULL;
    int st = PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule);
    Py_DECREF(capsule);
    if (st != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"install", install, METH_VARARGS, "Give a type the exchange API."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "_exchange",
                                    "DLPack's C exchange API.",
                                    -1,
                                    methods,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__exchange(void)
{
    return PyModule_Create(&module);
}
