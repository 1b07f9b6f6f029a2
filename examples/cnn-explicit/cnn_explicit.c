/* SPDX-License-Identifier: Apache-2.0 */
/* cnn_explicit.c - train a convolutional network on handwritten digits in
 * mixed precision. The loop is examples/common/train.c, the model cnn.c. */
#include "examples/cnn-explicit/cnn.h"

int main(int argc, char **argv)
{
    struct run_options defaults = {.program = "cnn-explicit",
                                   .policy = "mixed_float16",
                                   .scaler = "sesqui",
                                   /* a short run shows the machine move */
                                   .interval = 50,
                                   .device = "auto",
                                   .seed = 1,
                                   .epochs = 12,
                                   .batch = 24,
                                   .layers = 2,
                                   .lr = 4e-3,
                                   .activation = "relu",
                                   .data = DIGITS_PATH};
    return train_main(argc, argv, &cnn_kind, defaults);
}
