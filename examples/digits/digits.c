/* SPDX-License-Identifier: Apache-2.0 */
/* digits.c - train a perceptron on handwritten digits in mixed precision. The
 * loop is examples/common/train.c, the model mlp.c. */
#include "examples/digits/mlp.h"

int main(int argc, char **argv)
{
    struct run_options defaults = {.program = "digits",
                                   .policy = "mixed_float16",
                                   .scaler = "sesqui",
                                   /* a short run shows the machine move */
                                   .interval = 50,
                                   .device = "auto",
                                   .seed = 1,
                                   .epochs = 16,
                                   .batch = 24,
                                   .layers = 4,
                                   .lr = 4e-3,
                                   .activation = "relu",
                                   .data = DIGITS_PATH};
    return train_main(argc, argv, &mlp_kind, defaults);
}
