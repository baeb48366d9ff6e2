"""A released parameter: its name and the public range it was trimmed to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """`lower` and `upper` are public; every stored sample lies between them."""

    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError("a parameter needs lower < upper")
