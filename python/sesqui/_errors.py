# SPDX-License-Identifier: Apache-2.0
"""A warning, and exceptions: one for each status of the library, with its text."""


class CopyWarning(UserWarning):
    """from_dlpack has copied an array although copy=True was not set."""


class Error(Exception):
    """A call of the library failed. `status` is its number, the text names the values."""

    status = 0


class InvalidError(Error, ValueError):
    """SSQ_ERR_INVALID: an argument is not valid."""

    status = 1


class UnsupportedError(Error, NotImplementedError):
    """SSQ_ERR_UNSUPPORTED: the device or this build cannot do it."""

    status = 2


class OutOfMemoryError(Error, MemoryError):
    """SSQ_ERR_NOMEM: host or device memory is exhausted."""

    status = 3


class DeviceError(Error, RuntimeError):
    """SSQ_ERR_DEVICE: the device or its driver failed."""

    status = 4


class NotFoundError(Error, LookupError):
    """SSQ_ERR_NOT_FOUND: no such device, preset, name or file."""

    status = 5


class NotReadyError(Error):
    """SSQ_ERR_NOT_READY: the work has not finished yet."""

    status = 6


class ScaleError(Error, ArithmeticError):
    """SSQ_ERR_SCALE: the loss scale reached its minimum, or too many steps were skipped."""

    status = 7


class FileError(Error, OSError):
    """SSQ_ERR_IO: a file could not be read or written."""

    status = 8

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class CommError(Error, RuntimeError):
    """SSQ_ERR_COMM: another rank has ended, timed out, or made a different call."""

    status = 9


_CLASSES = {c.status: c for c in (InvalidError, UnsupportedError, OutOfMemoryError, DeviceError,
                                  NotFoundError, NotReadyError, ScaleError, FileError, CommError)}


def raise_status(status, text):
    """Raise the exception of a status."""
    error = _CLASSES.get(status, Error)(text)
    error.status = status
    raise error
