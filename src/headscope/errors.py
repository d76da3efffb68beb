"""What goes wrong, said in one sentence that tells the user what to do."""


class HeadscopeError(Exception):
    """Something failed; the message is one sentence that says what to do about it."""


class BadInput(HeadscopeError, ValueError):
    """The caller gave something that cannot be used (exit code 2 on the command line)."""


class AttentionNotRead(HeadscopeError, RuntimeError):
    """A model ran, and no attention could be seen in it."""


class UnknownModel(BadInput):
    """No model of that name can be opened here."""


class TextTooLong(BadInput):
    """A text has more tokens than the model has positions."""


class HeadscopeWarning(UserWarning):
    """Something a result does not show; commands print it as a line."""


class FewUnits(HeadscopeWarning):
    """Too few examples, texts or pairs for an interval or a p-value; both are NaN."""


class PaddingShows(UserWarning):
    """A model's attention to a text depends on how far its batch pads it."""


class Stopped(KeyboardInterrupt):
    """A run was stopped with Ctrl-C; the message says what is kept and how to go on.

    `partial` is what a survey had measured by then, marked as incomplete.
    """

    partial: object = None


# what a model raises that cannot run on something, and a bug of ours too
FOREIGN = (TypeError, ValueError, LookupError, RuntimeError, AttributeError, NotImplementedError)


def first_line(error: BaseException) -> str:
    """What another library said, short enough to stand inside a sentence of ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
