"""The errors that gradwire raises. Each message says what, where, and what to do."""


class Error(RuntimeError):
    """A peer, a file or an option is wrong."""


class SpecError(Error, ValueError):
    """A spec such as ``"ef(topk(1%))"`` cannot be understood, or makes no sense."""


class FileError(Error):
    """A file, or bytes of one, cannot be read, written or understood."""


class StartError(Error):
    """The ranks did not come together, or do not fit together."""


class PeerError(Error):
    """A rank was lost: it died, stopped answering or sent wrong frames."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        #: The rank that is the first cause.
        self.rank = rank
