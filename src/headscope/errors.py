"""Errors, each with one sentence that says what to do."""


class HeadscopeError(Exception):
    """A failure; the message is one sentence that says what to do."""


class BadInput(HeadscopeError, ValueError):
    """An argument cannot be used (exit code 2 on the command line)."""


class AttentionNotRead(HeadscopeError, RuntimeError):
    """A model ran, but capture saw no attention."""


class UnknownModel(BadInput):
    """No model of that name can be opened here."""


class TextTooLong(BadInput):
    """A text has more tokens than the model has positions."""


class HeadscopeWarning(UserWarning):
    """A fact that a result does not show; commands print it as a line."""


class FewUnits(HeadscopeWarning):
    """Too few examples for an interval or a p-value, which are NaN, or for a row of their own."""


class PaddingShows(UserWarning):
    """A model's attention to a text depends on how far its batch pads it."""


class Stopped(KeyboardInterrupt):
    """A run was stopped with Ctrl-C; the message says what is saved and how to resume.

    `partial` is the survey so far, marked as incomplete.
    """

    partial: object = None


# errors of models that cannot run on an input, and of bugs
FOREIGN = (TypeError, ValueError, LookupError, RuntimeError, AttributeError, NotImplementedError)


def first_line(error: BaseException) -> str:
    """Another library's message, short enough to quote in a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
