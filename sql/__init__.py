"""The SQL of the lake as package data: `tasks.warehouse.warehouse` reads it. No Python lives
here.
"""
