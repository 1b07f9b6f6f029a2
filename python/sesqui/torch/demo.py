# SPDX-License-Identifier: Apache-2.0
"""Train five small models on the device and on PyTorch's CPU: `python -m sesqui.torch.demo`."""

from . import MISSING


def main(arguments=None):
    try:
        from sesqui_torch import demo
    except ModuleNotFoundError as error:
        if error.name != "sesqui_torch":
            raise
        raise SystemExit(f"sesqui.torch.demo: {MISSING}") from None
    return demo.main(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
