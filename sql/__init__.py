"""The SQL of the lake as package data: `tasks.reports.warehouse` reads it. No Python lives here."""
