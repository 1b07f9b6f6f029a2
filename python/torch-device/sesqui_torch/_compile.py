# SPDX-License-Identifier: Apache-2.0
"""torch.compile on the device: the captured graph runs op by op."""


def register():
    pass
