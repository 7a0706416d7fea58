"""Trainings are Prefect flows: they share the server of whole runs' tests."""

from tests.flows.conftest import one_prefect, prefect_url

__all__ = ["one_prefect", "prefect_url"]
