"""Tests of `tasks.metrics`."""
