"""Datasets: declared, read, filled with rows, opened to analysts; and the populations they share an account with."""

from app.services.datasets.change_dataset import change_dataset, delete_dataset
from app.services.datasets.create_dataset import create_dataset
from app.services.datasets.draft_schema import draft_from_file
from app.services.datasets.populations import (
    change_population,
    create_population,
    delete_population,
    list_populations,
    read_population,
)
from app.services.datasets.read_datasets import list_datasets, read_dataset
from app.services.datasets.rehearse_dataset import rehearse_dataset
from app.services.datasets.set_cap import set_cap
from app.services.datasets.upload_data import check_data, upload_data
from app.services.datasets.withdraw_access import withdraw_access

__all__ = [
    "change_dataset",
    "change_population",
    "check_data",
    "create_dataset",
    "create_population",
    "delete_dataset",
    "delete_population",
    "draft_from_file",
    "list_datasets",
    "list_populations",
    "read_dataset",
    "read_population",
    "rehearse_dataset",
    "set_cap",
    "upload_data",
    "withdraw_access",
]
