"""One column, one parameter, one sum."""

from app.core.families import FAMILIES
from app.core.kinds.kind import Kind
from app.core.mechanisms import MECHANISMS

ONE_PARAMETER = Kind("one_parameter", FAMILIES, MECHANISMS)
