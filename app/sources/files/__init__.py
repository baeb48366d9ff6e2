"""The outer shape of a sent file: unpacked, decoded and written anew until one of two forms is left, CSV lines or Parquet."""

from app.sources.files.declared import UNDECLARED, DeclaredForm, read_declared
from app.sources.files.prepared import Prepared, prepared

__all__ = ["UNDECLARED", "DeclaredForm", "Prepared", "prepared", "read_declared"]
