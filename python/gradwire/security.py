"""Who may talk to a rank: a secret that all ranks share, or certificates of one authority."""

import os
from typing import Any, Dict, NamedTuple, Optional, Union

from .errors import Error

File = Union[str, "os.PathLike[str]"]

SECRET_BYTES = 32


class Security(NamedTuple):
    """As :func:`attach` explains it. Never printed: it may hold the secret itself."""

    secret: Optional[Union[File, bytes]] = None
    tls_cert: Optional[File] = None
    tls_key: Optional[File] = None
    tls_ca: Optional[File] = None

    def __repr__(self) -> str:
        return f"Security({self.kind()})"

    def check(self) -> None:
        secret = self.secret
        if isinstance(secret, (bytes, bytearray)):
            if len(secret) != SECRET_BYTES:
                raise Error(f"secret= takes {SECRET_BYTES} random bytes, not {len(secret)}")
        elif secret is not None and not isinstance(secret, (str, os.PathLike)):
            raise Error(
                f"secret= takes the path of a file or {SECRET_BYTES} bytes, not a "
                f"{type(secret).__name__}"
            )
        for name in ("tls_cert", "tls_key", "tls_ca"):
            if not isinstance(getattr(self, name), (str, os.PathLike, type(None))):
                raise Error(f"{name}= takes the path of a file")

    def or_environment(self) -> "Security":
        """If it is empty: the secret that the environment names."""
        if any(value is not None for value in self):
            return self
        return Security(secret=os.environ.get("GRADWIRE_SECRET_FILE") or None)

    def kind(self) -> str:
        """What all ranks must have alike, without a part of the secret."""
        if self.secret is not None:
            return "a secret"
        return "certificates" if self.tls_cert is not None else "off"

    def native(self) -> Dict[str, Any]:
        """The arguments of the extension module."""
        secret = self.secret
        if isinstance(secret, (bytes, bytearray)):
            given: Dict[str, Any] = {"secret": bytes(secret)}
        else:
            given = {"secret_file": _path(secret)}
        given["tls_cert"] = _path(self.tls_cert)
        given["tls_key"] = _path(self.tls_key)
        given["tls_ca"] = _path(self.tls_ca)
        return given


def _path(file: Optional[File]) -> str:
    return os.fspath(file) if file is not None else ""
