"""The report of `config show`."""

from __future__ import annotations

from dataclasses import fields

from ascend_fuse.config import CHECK, DEFAULT, Config
from ascend_fuse.report.page import Page, Section, Table

SCHEMA = "ascend-fuse/config/1"


def config_page(config: Config) -> Page:
    """One row for each option, each size that is given and each gate: its value and where that comes from."""
    rows: list[tuple[str, object, str]] = []
    for field in fields(config.settings):
        value: object = getattr(config.settings, field.name)
        if field.name == "dims":
            sizes = [(f"dims.{name}", n, config.origin(f"dims.{name}")) for name, n in config.settings.dims.items()]
            rows += sizes or [("dims", {}, DEFAULT)]
        else:
            rows.append((field.name, value, config.origin(field.name)))
    for field in fields(config.gates):
        name = f"{CHECK}.{field.name}"
        rows.append((name, getattr(config.gates, field.name), config.origin(name)))
    table = Table(("option", "value", "from"), tuple((name, _shown(value), origin) for name, value, origin in rows))
    line = "Command line before environment before file before default."
    options = [{"option": name, "value": value, "from": origin} for name, value, origin in rows]
    return Page("ascend-fuse: configuration", (Section("", (line,), table),), {"schema": SCHEMA, "options": options})


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f"{value:g}" if isinstance(value, float) else str(value) if value not in ({}, "", None) else "none"
