/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - parameters and whole trainings in files.
 *
 * All files are of the format safetensors, which PyTorch, Keras, JAX and others
 * read and write: a header that names tensors, and their bytes. A checkpoint is
 * such a file, with parameters under their own names, so that anybody can load
 * them, and everything else of a training under names that begin with
 * "sesqui/". A training that goes on from one goes on with the same bits, on
 * the device that saved it or another.
 *
 *     if (ssq_trainer_load(trainer, "run.safetensors") == SSQ_ERR_NOT_FOUND)
 *         puts("a new run");
 *     while (...) {
 *         ...
 *         st = ssq_trainer_save(trainer, "run.safetensors");
 *     }
 *
 * Files are replaced as a whole: what is saved goes to a file beside the old
 * one, and takes its place when the disk has it. Whatever fails before, the old
 * one is as it was and nothing is left beside it; only a process that is killed
 * leaves a file ".sesqui-*.part". A link is followed, and stays; a link to a
 * file that does not exist makes that file. The new file gets the mode of the
 * old one if the file system keeps modes. With each tensor goes a CRC-64 of its
 * name, dtype, shape and bytes, and one of the header.
 *
 * A file is read with suspicion: a header that is no JSON or longer than the
 * file, names, keys and members that are there twice, shapes that overflow,
 * ranges that overlap, have gaps or end too early are refused with a text that
 * says which, and memory is taken for what is in the file, never for what it
 * claims. Tensors go through a few megabytes of host memory.
 *
 * A checkpoint names what decides the bits of a device's results, in its
 * metadata: "sesqui.choice.library" (the version), "sesqui.choice.device" (the
 * name it has here), "sesqui.choice.driver" (or the processor and its
 * instructions), "sesqui.choice.gemm" (the implementations of products, how
 * many shapes ssq_gemm_tune has chosen for, with a digest of the choices, and
 * "TF32") and "sesqui.choice.pins" (SSQ_IMPL, ssq_implementation_pin). A load
 * that finds others here goes on, and says so: a line SSQ_LOG_WARNING for each
 * that differs, with both texts. What the bits do not depend on, as the number
 * of threads, is not there.
 *
 * All of these calls wait for the queue, and none may be in a capture. */
#ifndef SESQUI_CHECKPOINT_H
#define SESQUI_CHECKPOINT_H

#include <sesqui/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files of tensors ---- */

typedef struct ssq_safetensors ssq_safetensors;

/** What a file says of a tensor; filled by ssq_safetensors_get. */
typedef struct ssq_safetensors_info {
    size_t struct_size;
    const char *name;  /**< valid until the file is closed, as all texts of
                            it */
    const char *dtype; /**< as it is spelled there: "F32", "BF16", "F8_E4M3"; it
                            may be one that ssq_safetensors_read refuses */
    int rank;          /**< may be more than SSQ_MAX_RANK */
    int64_t shape[SSQ_MAX_RANK]; /**< the first dimensions */
    uint64_t bytes;
} ssq_safetensors_info;
#define SSQ_SAFETENSORS_INFO_INIT                                              \
    {                                                                          \
        sizeof(ssq_safetensors_info), NULL, NULL, 0, {0}, 0                    \
    }

/** Open a file and check its header; the bytes of tensors are read later.
 *
 *  A model of several files opens by its index ("model.safetensors.index.json")
 *  as if it were one. The index names, for each tensor, a shard in the index's
 *  own directory; all shards are opened. Tensors that the index does not name
 *  are not listed. A total_size that differs is logged and not an error: some
 *  writers count it in other ways. A shard opens alone, too. ssq_params_load
 *  takes an index; ssq_trainer_load does not, because a training is saved in
 *  one file.
 *  @param path  of a plain file, which must not be written to while it is open
 *  @param file  the caller's; used by one thread at a time
 *  @return SSQ_ERR_NOT_FOUND there is no such file; SSQ_ERR_IO it cannot be
 *          read; SSQ_ERR_INVALID a NULL, no plain file, or a header that is
 *          refused; of an index, a shard that is missing or whose name has a
 *          directory in it, a tensor that its shard lacks, that two shards
 *          have or that the index names twice; SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_open(const char *path,
                                                       ssq_safetensors **file);

/** Close it. */
SSQ_API void ssq_safetensors_close(ssq_safetensors **file);

/** Tensors in the file; 0 for NULL. */
SSQ_API size_t ssq_safetensors_count(const ssq_safetensors *file);

/** Tensor i, in the order of their bytes; of an index, of its shards' names and
 *  then of their bytes.
 *  @return SSQ_ERR_INVALID a NULL, a wrong struct_size, or i past the end. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_get(
    const ssq_safetensors *file, size_t i, ssq_safetensors_info *info);

/** The tensor of a name. @return SSQ_ERR_NOT_FOUND there is none. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_find(
    const ssq_safetensors *file, const char *name, ssq_safetensors_info *info);

/** The text of a key of "__metadata__", of an index in the first shard that has
 *  it; NULL: there is none. */
SSQ_API const char *ssq_safetensors_metadata(const ssq_safetensors *file,
                                             const char *key);

/** Read a tensor of the file into one of a device. Floats of any kind but of 8
 *  bits go into floats of any: by way of float32, each rounded to nearest;
 *  integers and bools as ssq_tensor_write has it.
 *  @param axes    dimension i of the file's tensor is dimension axes[i] of this
 *                 one, as ssq_tensor_transpose; NULL: the same
 *  @param tensor  of any strides
 *  @return SSQ_ERR_NOT_FOUND no such name; SSQ_ERR_INVALID a NULL, other
 *          shapes, axes that are no permutation, floats into integers, a digest
 *          that is not that of the bytes, with both; SSQ_ERR_UNSUPPORTED U64,
 *          complex numbers, floats of 8 bits or less, a dtype that the library
 *          does not know; SSQ_ERR_IO; the queue's error.
 *          Values are looked at before the first is written. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_safetensors_read(ssq_queue *queue, ssq_safetensors *file, const char *name,
                     const int *axes, const ssq_tensor *tensor);

/** Write n tensors into a new file, or in the place of an old one.
 *  @param names    UTF-8, each once, none "__metadata__"
 *  @param tensors  contiguous
 *  @return SSQ_ERR_INVALID a NULL, a name that is there twice or no UTF-8, a
 *          tensor that is not contiguous, a path that is no plain file;
 *          SSQ_ERR_IO the disk refused; SSQ_ERR_NOT_FOUND there is no such
 *          folder; SSQ_ERR_NOMEM; the queue's error. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_safetensors_write(
    ssq_queue *queue, const char *path, size_t n, const char *const *names,
    const ssq_tensor *const *tensors);

/* ---- weights ---- */

/** What parameters are called in a file, and how they lie there. */
typedef struct ssq_params_rule {
    const char *param; /**< a pattern, as ssq_params_optimize has it; at most 8
                            wild cards */
    const char *file;  /**< the name there, with as many: each * and ? is what
                            that of its place in param stands for. NULL: not
                            there: it keeps its value, and is not saved */
    const int *axes; /**< dimension i of the file's tensor is dimension axes[i]
                          of the parameter; NULL: the same. {1, 0} for kernels
                          that are [in, out] there and [out, in] here */
    int rank;        /**< elements of axes, which is the rank of each parameter
                          that matches; 0 without axes */
} ssq_params_rule;

typedef struct ssq_params_file_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_params_file_args));
    ssq_optimizer *optimizer; /**< that has the parameters, and their masters;
                                   NULL: none has */
    const ssq_params_rule *rules; /**< the first counts whose pattern matches;
                                       other parameters have their own names */
    size_t count;                 /**< of rules */
    bool missing; /**< to load: parameters may be missing in the file, and keep
                       their values; but not all of them */
    bool unused;  /**< likewise: the file may have tensors that are nobody's;
                       names that begin with "sesqui/" always may */
} ssq_params_file_args;
#define SSQ_PARAMS_FILE_DEFAULTS                                               \
    sizeof(ssq_params_file_args), NULL, NULL, 0, false, false
#define SSQ_PARAMS_FILE_INIT                                                   \
    {                                                                          \
        SSQ_PARAMS_FILE_DEFAULTS                                               \
    }
#define SSQ_PARAMS_FILE(...)                                                   \
    SSQ_ARGS(ssq_params_file_args, SSQ_PARAMS_FILE_DEFAULTS, __VA_ARGS__)

/** Take parameters, and states, out of anybody's file. Masters have the float32
 *  values that are there, as behind ssq_params_write, and parameters are
 * rounded from them; floats of 16 and 64 bits are made float32. The parameters
 * must exist: ssq_params_allow lets a pass make them. All is compared before
 * anything is written: names, shapes, dtypes, and digests where the file has
 * some. Afterwards passes make only parameters that ssq_params_allow
 * names.
 *
 *      static const int swapped[] = {1, 0};
 *      static const ssq_params_rule keras[] = {
 *          {"*.weight", "model.*.kernel", swapped, 2},
 *          {"*.bias", "model.*.bias", NULL, 0}};
 *
 *  @param args  NULL: all under their own names
 *  @return SSQ_ERR_NOT_FOUND there is no such file; SSQ_ERR_INVALID a NULL, a
 *          wrong struct_size, a set without parameters, a rule without a
 *          pattern or with other wild cards in file, axes that are no
 *          permutation or of another rank, a capture, of different devices; a
 * parameter that the file has not, a tensor that is nobody's, another shape,
 * integers, a digest that differs: the first, by name; SSQ_ERR_UNSUPPORTED a
 * dtype, as ssq_safetensors_read. Nothing has changed then. SSQ_ERR_NOMEM,
 * SSQ_ERR_IO or the queue's error while values are written: then they are
 * partly those of the file. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_load(ssq_params *params, ssq_queue *queue, const char *path,
                const ssq_params_file_args *args);

/** Save parameters and states in float32, as ssq_params_read has them, and
 *  nothing else: for those who load weights. Where the optimizer is distributed
 *  (ssq_optimizer_distribute) all ranks call it, and each writes its path.
 *  @return as ssq_params_load, of the arguments; SSQ_ERR_INVALID also: nothing
 *          to save, two of the same name; else as ssq_safetensors_write.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_save(const ssq_params *params, ssq_queue *queue, const char *path,
                const ssq_params_file_args *args);

/* ---- checkpoints ---- */

/** What a checkpoint is made of; NULL: that part is left out. */
typedef struct ssq_checkpoint_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_checkpoint_args));
    ssq_params *params;       /**< and states */
    ssq_optimizer *optimizer; /**< masters, moments, t, the random counter; its
                                   parameters are those of params, or the
                                   program's business */
    ssq_scaler *scaler;
} ssq_checkpoint_args;
#define SSQ_CHECKPOINT_DEFAULTS sizeof(ssq_checkpoint_args), NULL, NULL, NULL
#define SSQ_CHECKPOINT_INIT                                                    \
    {                                                                          \
        SSQ_CHECKPOINT_DEFAULTS                                                \
    }
#define SSQ_CHECKPOINT(...)                                                    \
    SSQ_ARGS(ssq_checkpoint_args, SSQ_CHECKPOINT_DEFAULTS, __VA_ARGS__)

/** Save these. Of a distributed optimizer it is a call of all ranks, and rank 0
 *  writes the file: the same that one with a whole optimizer writes, which any
 *  number of ranks may load. The others give their parts, do not wait for that,
 *  and their path is not looked at. Where the file fails, rank 0 still takes
 *  all parts, so that the group lives on.
 *  @return SSQ_ERR_INVALID a NULL queue, path or args, wrong struct_size,
 *          nothing to save, an optimizer without parameters or in the middle of
 *          a step or an accumulation, a scaler with a check since its last
 *          update, a parameter whose name begins with "sesqui/" or is no UTF-8,
 *          a capture; else as ssq_safetensors_write. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_checkpoint_save(
    ssq_queue *queue, const char *path, const ssq_checkpoint_args *args);

/** Go on from a checkpoint, which has to have each part that is asked for; the
 *  others stay in the file. Parameters of an empty set are made as the file has
 *  them, with the order, the seed and the count of passes that they had; a set
 *  that is not empty has to have those of the file, in that order. All of it is
 *  compared, and all digests are, before anything is written. Each rank of a
 *  distributed optimizer reads its part of a file, whoever has saved it.
 *  @return SSQ_ERR_NOT_FOUND there is no such file; SSQ_ERR_INVALID as
 *          ssq_checkpoint_save; no checkpoint, or of another version; damaged;
 *          without a part; of another policy or kind of optimizer; of other
 *          parameters or moments: the first difference by name. Nothing has
 *          changed then. SSQ_ERR_IO or the queue's error while values are
 *          written: then they are partly those of the file. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_checkpoint_load(
    ssq_queue *queue, const char *path, const ssq_checkpoint_args *args);

/** Save a trainer: its parameters, and once it has stepped its optimizer; its
 *  scaler, if any; and its own count and sum of losses. With .shard a call of
 *  all ranks, as ssq_checkpoint_save: rank 0 writes the file, with its losses.
 *  @return SSQ_ERR_INVALID also: NULL, within an accumulation, while a step
 *          that failed is due, or after ssq_trainer_end (ssq_checkpoint_save
 *          takes the parameters); else as ssq_checkpoint_save. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_save(ssq_trainer *trainer,
                                                   const char *path);

/** Go on as the trainer that was saved, with the same bits: in a new trainer of
 *  the same arguments and groups, before its first pass, or in one that has had
 *  passes of the same model. Hyper-parameters, schedules and hooks are the
 *  program's, and not in the file. A pass that is under way is over, and
 *  gradients are clean.
 *  @return SSQ_ERR_INVALID also: NULL, within an accumulation, after
 *          ssq_trainer_end; a scaler in one and not in the other; a file of
 *          before the first step, and a trainer that has stepped; else as
 *          ssq_checkpoint_load. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_load(ssq_trainer *trainer,
                                                   const char *path);

#ifdef __cplusplus
}
#endif

#endif
