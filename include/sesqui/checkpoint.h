/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - parameters and whole trainings in files.
 *
 *     ssq_status st = ssq_trainer_load(trainer, "run.safetensors");
 *     if (st == SSQ_ERR_NOT_FOUND)
 *         puts("a new run");
 *     else if (st != SSQ_OK)
 *         return fail(ssq_last_error());
 *     while (..) {
 *         ..                                             train an epoch
 *         st = ssq_trainer_save(trainer, "run.safetensors");
 *     }
 *
 * Which calls to use:
 *
 *  - ssq_trainer_save and _load save and continue a training of a trainer.
 *    ssq_checkpoint_save and _load do this without a trainer.
 *  - ssq_params_save and _load exchange weights with other programs.
 *  - ssq_safetensors_write, _open and _read handle single tensors.
 *
 * All files have the format safetensors, which PyTorch, Keras and JAX programs
 * read and write: a header that names tensors, and their bytes. A checkpoint is
 * such a file. Its parameters have their own names, so that other programs can
 * load them. Its other tensors have names that begin with "sesqui/".
 *
 * Saving
 *
 * A save replaces the file as a whole. It writes a new file to the same folder,
 * and renames it when the disk has stored it.
 *
 *  - After an error the old file is unchanged, and the new one is removed. Only
 *    a process that is killed leaves a file ".sesqui-*.part".
 *  - A symbolic link is followed, and stays. Another hard link to the old file
 *    keeps the old contents.
 *  - The new file gets the permission bits of the old one, if the file system
 *    has them. Its owner is the process. Only the folder must be writable: a
 *    file without write permission is replaced, too.
 *  - The file contains a CRC-64 of each tensor's name, dtype, shape and bytes,
 *    and one of the header.
 *
 * Loading
 *
 * A file is not trusted. If it is not valid, it is refused with
 * SSQ_ERR_INVALID, and the message says why. For example, the header is not
 * strict JSON, a name occurs twice, or ranges of bytes overlap. Host memory is
 * allocated for the bytes that the file has, not for sizes that it claims.
 * Tensors are copied through buffers of a few megabytes.
 *
 * A file must not be written to while it is open. A save to the same path is
 * allowed: the open file keeps the old contents.
 *
 * Captures. No call that uses a queue or a trainer may be captured. Below, "a
 * graph is being captured" includes a capture of the queue's stream by the
 * program (cuda.h).
 *
 * @sync waits for all work of the queue
 * @threads object */
#ifndef SESQUI_CHECKPOINT_H
#define SESQUI_CHECKPOINT_H

#include <sesqui/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files of tensors ---- */

/** An open file, or an index of several. Texts that its functions return are
 *  owned by it, and valid until it is closed. */
typedef struct ssq_safetensors ssq_safetensors;

/** Description of a tensor in a file; written by ssq_safetensors_get. */
typedef struct ssq_safetensors_info {
    size_t struct_size;
    const char *name;
    const char *dtype; /**< as spelled in the file, for example "F32", "BF16" or
                            "F8_E4M3". ssq_safetensors_read may refuse it. */
    int rank;          /**< may be more than SSQ_MAX_RANK */
    int64_t shape[SSQ_MAX_RANK]; /**< the first SSQ_MAX_RANK dimensions; 0 for
                                      those after the last */
    uint64_t bytes;    /**< of the values in the file */
} ssq_safetensors_info;
#define SSQ_SAFETENSORS_INFO_INIT                                              \
    {                                                                          \
        sizeof(ssq_safetensors_info), NULL, NULL, 0, {0}, 0                    \
    }

/** Open a file and check its header. The bytes of tensors are read later. The
 *  CRC of the header is not compared, because other programs may have rewritten
 *  it: ssq_checkpoint_load and ssq_trainer_load compare it.
 *
 *  A model in several files is opened by its index, for example
 *  "model.safetensors.index.json". The index names a file (a shard) in its own
 *  folder for each tensor. All shards are opened. Tensors that the index does
 *  not name are not listed. A wrong total_size is logged and not an error: some
 *  writers count it in other ways. A shard can also be opened alone.
 *  @param path  of a plain file, or a link to one; not empty
 *  @param file  out; owned by the caller; release it with
 *               ssq_safetensors_close()
 *  @return
 *   - SSQ_ERR_NOT_FOUND  the file does not exist
 *   - SSQ_ERR_IO         it cannot be opened or read
 *   - SSQ_ERR_INVALID    it is not a plain file, for example a folder; its
 *                        header is not valid, has more than 100,000,000 bytes,
 *                        or has an unknown member with more than 65 levels. The
 *                        message names known other formats, for example a file
 *                        of torch.save.
 *   - SSQ_ERR_INVALID    of an index: it has no weight_map, or more than
 *                        100,000,000 bytes; a shard is missing or not valid, or
 *                        its name has a "/"; a tensor is not in its shard, or
 *                        is named twice, or is in two shards
 *  @sync host
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_open(const char *path,
                                                       ssq_safetensors **file);

/** Close a file.
 *  @param file  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync host */
SSQ_API void ssq_safetensors_close(ssq_safetensors **file);

/** Return the number of tensors in a file; 0 for NULL.
 *  @sync host
 *  @threads any */
SSQ_API size_t ssq_safetensors_count(const ssq_safetensors *file);

/** Describe tensor i. Tensors are in the order of their bytes. With an index,
 *  shards come in the order of their names.
 *  @param info  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  i is not less than ssq_safetensors_count()
 *  @sync host
 *  @threads any */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_get(
    const ssq_safetensors *file, size_t i, ssq_safetensors_info *info);

/** Describe the tensor of a name.
 *  @param info  in: struct_size; out: the rest
 *  @return SSQ_ERR_NOT_FOUND  the file has no tensor of this name
 *  @sync host
 *  @threads any */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_find(
    const ssq_safetensors *file, const char *name, ssq_safetensors_info *info);

/** Return the text of a key of "__metadata__". Of an index, return the text of
 *  the first shard that has the key.
 *  @return NULL if the file does not have the key, or for a NULL argument
 *  @sync host
 *  @threads any */
SSQ_API const char *ssq_safetensors_metadata(const ssq_safetensors *file,
                                             const char *key);

/** Read a tensor of a file into a tensor of a device. Floats are converted to
 *  floats. If the dtypes differ they are rounded to float32 and then to the
 *  tensor's dtype, each to nearest even. Overflow gives infinity and is not an
 *  error: for example, of an F64 above float32's range. Integers and bools are
 *  converted to integers as by ssq_tensor_write.
 *  @param file    its digest of the tensor is checked, if it has one
 *  @param axes    dimension i of the file's tensor is dimension axes[i] of
 *                 `tensor`; each 0 or more. For example, {1, 0} reads the
 *                 transpose. NULL: the same order
 *  @param tensor  out; any strides. Its elements must not overlap: above half
 *                 a million elements this is not always noticed.
 *  @return
 *   - SSQ_ERR_NOT_FOUND    the file has no tensor of this name
 *   - SSQ_ERR_INVALID      the shapes differ; axes is not a permutation; floats
 *                          would go to integers, or integers to floats; a value
 *                          does not fit; the digest differs (the message has
 *                          both); elements of tensor overlap; a graph is being
 *                          captured on the queue
 *   - SSQ_ERR_UNSUPPORTED  the file's dtype is U64, complex, a float of 8 bits
 *                          or less, or unknown
 *   - SSQ_ERR_IO           the file cannot be read, or has become shorter
 *   After SSQ_ERR_IO, SSQ_ERR_NOMEM or the queue's error some values may have
 *   been written. After other errors nothing has changed. Exception: of a BOOL
 *   tensor with a byte above 1 the values before it may have been written.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_safetensors_read(ssq_queue *queue, ssq_safetensors *file, const char *name,
                     const int *axes, const ssq_tensor *tensor);

/** Write n tensors to a file. An existing file is replaced.
 *  @param path     of a new or a plain file, or a link to one; not empty
 *  @param n        may be 0: names and tensors may be NULL then
 *  @param names    [n] UTF-8, all different, none "__metadata__"
 *  @param tensors  [n] contiguous
 *  @return
 *   - SSQ_ERR_INVALID    a name occurs twice, is not UTF-8 or is
 *                        "__metadata__"; a tensor is not contiguous; path is
 *                        not a plain file, for example a folder; the header
 *                        would have more than 100,000,000 bytes; a graph is
 *                        being captured on the queue
 *   - SSQ_ERR_NOT_FOUND  the folder does not exist
 *   - SSQ_ERR_IO         the file cannot be written, for example because the
 *                        disk is full
 *   After an error the old file is unchanged.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_write(
    ssq_queue *queue, const char *path, size_t n, const char *const *names,
    const ssq_tensor *const *tensors);

/* ---- weights ---- */

/** The names and dimensions that some parameters have in a file. */
typedef struct ssq_params_rule {
    const char *param; /**< a pattern, as in ssq_params_optimize; at most 8 wild
                            cards; not NULL */
    const char *file;  /**< the name in the file, with as many wild cards: each
                            is replaced by the text that the wild card of the
                            same number in `param` matches. The name must have
                            less than 512 bytes. NULL or "": the file does not
                            have these parameters; they keep their values, and
                            are not saved. */
    const int *axes; /**< dimension i of the file's tensor is dimension axes[i]
                          of the parameter; each 0 or more. For example, {1, 0}
                          if a kernel is [in, out] in the file and [out, in]
                          here. NULL: the same order */
    int rank;        /**< number of axes: the rank of each parameter that
                          matches; 0 without axes */
} ssq_params_rule;

/** Arguments of ssq_params_load and ssq_params_save. */
typedef struct ssq_params_file_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_params_file_args));
    ssq_optimizer *optimizer; /**< the one that has the parameters, for their
                                   masters; it does not count as used. NULL:
                                   none, as in ssq_params_read and
                                   ssq_params_write */
    const ssq_params_rule *rules; /**< [count]; the first that matches counts. A
                                       parameter without a rule has its own name
                                       in the file. NULL if count is 0 */
    size_t count;                 /**< of rules */
    bool missing; /**< load only. The file need not have all parameters, but at
                       least one; the others keep their values. */
    bool unused;  /**< load only. The file may have tensors of no parameter.
                       Names that begin with "sesqui/" are always allowed. */
} ssq_params_file_args;
#define SSQ_PARAMS_FILE_DEFAULTS                                               \
    sizeof(ssq_params_file_args), NULL, NULL, 0, false, false
#define SSQ_PARAMS_FILE_INIT                                                   \
    {                                                                          \
        SSQ_PARAMS_FILE_DEFAULTS                                               \
    }
#define SSQ_PARAMS_FILE(...)                                                   \
    SSQ_ARGS(ssq_params_file_args, SSQ_PARAMS_FILE_DEFAULTS, __VA_ARGS__)

/** Load parameters and states from a file, which any program may have written.
 *  All parameters must exist: let a pass create them (ssq_params_allow). Values
 *  are set as by ssq_params_write: masters get the file's values in float32,
 *  and parameters are rounded from them. After the call, passes create only
 *  parameters that ssq_params_allow names.
 *
 *  For example, to load a model of Keras:
 *
 *      static const int swapped[] = {1, 0};
 *      static const ssq_params_rule keras[] = {
 *          {"*.weight", "model.*.kernel", swapped, 2},
 *          {"*.bias", "model.*.bias", NULL, 0}};
 *      ssq_params_load(params, queue, "model.safetensors",
 *                      SSQ_PARAMS_FILE(.rules = keras, .count = 2));
 *
 *  If the optimizer is distributed, load the same file on all ranks.
 *  @param path  of a file or an index (ssq_safetensors_open)
 *  @param args  NULL: all defaults. If an optimizer has masters and is not
 *               given, its next step overwrites the loaded values.
 *  @return
 *   - SSQ_ERR_INVALID      the set has no parameters; a rule is not valid; axes
 *                          are not a permutation of a parameter's dimensions; a
 *                          graph is being captured on the queue
 *   - SSQ_ERR_INVALID      the file has no tensor for a parameter, a tensor of
 *                          no parameter, another shape, integers, or a wrong
 *                          digest: the message names the first difference. Or
 *                          the file has none of the parameters, by the rules
 *   - SSQ_ERR_UNSUPPORTED  a dtype in the file, as ssq_safetensors_read
 *   - otherwise as ssq_safetensors_open
 *   After these errors nothing has changed. After SSQ_ERR_IO, SSQ_ERR_NOMEM or
 *   the queue's error some parameters may have the new values, and one a part
 *   of them. Its master may have them and not the parameter: load again before
 *   the next step.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_load(ssq_params *params, ssq_queue *queue, const char *path,
                const ssq_params_file_args *args);

/** Save parameters and states in float32, with the values that ssq_params_read
 *  returns. The file contains nothing else: use it to publish weights. The call
 *  needs device memory for one parameter in float32; for two if masters are
 *  split or distributed.
 *
 *  If the optimizer is distributed, all ranks must make this call with the same
 *  rules, and each writes a file. Ranks of one process then need a thread each.
 *  A rank that cannot write its file still takes part, and the group continues.
 *  If a rank's arguments are refused, the other ranks wait for it until the
 *  timeout.
 *  @param path  as ssq_safetensors_write
 *  @param args  NULL: all defaults; missing and unused are not used
 *  @return
 *   - SSQ_ERR_INVALID  the set has no parameters; a rule is not valid; by the
 *                      rules no parameter is saved; two parameters have the
 *                      same name in the file; a graph is being captured on the
 *                      queue
 *   - SSQ_ERR_COMM     the optimizer is distributed, and its group has ended
 *   - otherwise as ssq_safetensors_write
 *   After an error the old file is unchanged.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_save(const ssq_params *params, ssq_queue *queue, const char *path,
                const ssq_params_file_args *args);

/* ---- checkpoints ---- */

/** The parts of a checkpoint. At least one must be set; NULL: the part is left
 *  out. */
typedef struct ssq_checkpoint_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_checkpoint_args));
    ssq_params *params;       /**< parameters, states, the seed, and the number
                                   of passes that have drawn random words */
    ssq_optimizer *optimizer; /**< masters and moments of all its parameters, t
                                   and the random counter. The parameters
                                   themselves are saved by `params` */
    ssq_scaler *scaler;       /**< its options and its state */
} ssq_checkpoint_args;
#define SSQ_CHECKPOINT_DEFAULTS sizeof(ssq_checkpoint_args), NULL, NULL, NULL
#define SSQ_CHECKPOINT_INIT                                                    \
    {                                                                          \
        SSQ_CHECKPOINT_DEFAULTS                                                \
    }
#define SSQ_CHECKPOINT(...)                                                    \
    SSQ_ARGS(ssq_checkpoint_args, SSQ_CHECKPOINT_DEFAULTS, __VA_ARGS__)

/** Save the parts of a training. This counts as a use of the optimizer: no
 *  parameter can be added to it later.
 *
 *  If the optimizer is distributed, all ranks must make this call. Rank 0
 *  collects all parts and writes the file, which any number of ranks can load.
 *  The other ranks write no file, and their path may be NULL. Rank 0 waits for
 *  the other ranks: ranks of one process need a thread each.
 *
 *  If rank 0 cannot write the file, it still collects the parts, and the group
 *  continues. If the call of a rank is refused, the other ranks wait for this
 *  rank until the timeout. Each rank needs device memory for the largest
 *  parameter in float32.
 *
 *  The metadata contain the choices that decide the bits of results:
 *  "sesqui.choice.library" (the version), ".device" (its name), ".driver" (or
 *  the processor), ".pins" (SSQ_IMPL, ssq_implementation_pin) and ".gemm" (its
 *  implementations, the tunings, TF32, f16 by three products).
 *  @param path  as ssq_safetensors_write
 *  @return
 *   - SSQ_ERR_INVALID  all parts are NULL; the optimizer has no parameters, or
 *                      is in the middle of a step or an accumulation; the
 *                      scaler has a check since its last update; the name of a
 *                      parameter begins with "sesqui/", is "__metadata__" or is
 *                      not UTF-8; a graph is being captured on the queue
 *   - SSQ_ERR_COMM     the optimizer is distributed, and its group has ended
 *   - otherwise as ssq_safetensors_write
 *   After an error the old file is unchanged. The optimizer may count as used.
 *  @sync waits for all work of the queue. On ranks above 0 of a distributed
 *        optimizer only if there is a scaler.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_checkpoint_save(
    ssq_queue *queue, const char *path, const ssq_checkpoint_args *args);

/** Continue from a checkpoint. The file must have all parts that are given; its
 *  other parts are ignored. This counts as a use of the optimizer.
 *
 *  If the device and its choices are the same, the training computes the same
 *  bits as without the interruption. If a choice differs (ssq_checkpoint_save),
 *  the call succeeds and logs a warning.
 *
 *  Gradients do not change: call ssq_params_clean if there are sums of earlier
 *  passes.
 *
 *  If the set of parameters is empty, they are created as in the file, in its
 *  order. Otherwise the set must have the same parameters in the same order.
 *  Afterwards passes create only parameters that ssq_params_allow names.
 *
 *  The optimizer must have its parameters before this call. With an empty set,
 *  first load the parameters alone, then call ssq_params_optimize, then load
 *  all parts.
 *
 *  Each rank of a distributed optimizer loads its shard: make the call on all
 *  ranks, with the same file. The number of ranks may differ from the save.
 *  @param path  of a file; an index is refused
 *  @return
 *   - SSQ_ERR_NOT_FOUND  the file does not exist
 *   - SSQ_ERR_IO         it cannot be read
 *   - SSQ_ERR_INVALID    a part or the capture, as ssq_checkpoint_save
 *   - SSQ_ERR_INVALID    the file is not a checkpoint, is of another version,
 *                        is damaged, or does not have a part
 *   - SSQ_ERR_INVALID    the policy, the kind of optimizer, a parameter or a
 *                        moment differs: the message names the first difference
 *   After these errors nothing has changed. Exception: with SSQ_MASTER_SPLIT
 *   and an optimizer that was not used, parameters that ssq_params_write or
 *   ssq_params_load has set may have been rounded again. If values cannot be
 *   written (for example SSQ_ERR_IO, SSQ_ERR_NOMEM or the queue's error), some
 *   may be those of the file; an empty set is empty again.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_checkpoint_load(
    ssq_queue *queue, const char *path, const ssq_checkpoint_args *args);

/** Save a training: parameters, the optimizer (after the first step), scaler,
 *  number of steps, ranks' weights, and the losses that ssq_trainer_loss would
 *  return next. Passes that ssq_trainer_poll has sent are not among them.
 *
 *  With .shard all ranks must make this call, and rank 0 writes the file with
 *  its own losses (ssq_checkpoint_save). With .comm alone the ranks are equal:
 *  one of them should save.
 *  @return
 *   - SSQ_ERR_INVALID  passes of an accumulation were taken, or a step is due
 *                      (ssq_trainer_flush); the training has ended (save the
 *                      parameters with ssq_checkpoint_save); a load has failed
 *                      while it wrote; a parameter was created after the first
 *                      step; a label of a pass was out of range and no call
 *                      has returned that error yet: this one does, once
 *   - otherwise as ssq_checkpoint_save
 *   After an error the old file is unchanged.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_save(ssq_trainer *trainer,
                                                   const char *path);

/** Continue as the trainer that was saved. The trainer must have the same
 *  arguments and groups. It may be new, or have had passes of the same model.
 *  Options of the optimizer, schedules and hooks are not in the file: set them
 *  as in the first run. With .comm all ranks must load the same file before the
 *  same pass.
 *
 *  The call ends the current pass and marks the gradients as clean. A trainer
 *  that was created without .weights takes the ranks' weights from the file. If
 *  the file has none, or another number of ranks, all ranks count equally.
 *  @return
 *   - SSQ_ERR_INVALID  passes of an accumulation were taken, or a step is due;
 *                      the training has ended; a hook within a pass has called
 *                      it (ssq_trainer_hook); only the file or only the
 *                      trainer has a scaler; the file was saved before the
 *                      first step, and the trainer has made or loaded one; the
 *                      file was saved by ssq_checkpoint_save; a pattern of
 *                      ssq_trainer_group matches no parameter of the file
 *   - otherwise as ssq_checkpoint_load
 *   After an error the current pass may have ended. If values were written,
 *   later passes, ssq_trainer_flush, _zero_grad, _end and _save return
 *   SSQ_ERR_INVALID until a load succeeds.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_load(ssq_trainer *trainer,
                                                   const char *path);

#ifdef __cplusplus
}
#endif

#endif
