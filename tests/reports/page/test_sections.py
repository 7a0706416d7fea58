from pathlib import Path

import pytest

from judgelake.tasks.reports.page.parts import Section
from judgelake.tasks.reports.page.sections import SECTIONS
from judgelake.tasks.warehouse.warehouse import select_frame
from tests.lakes import make_lake, warehouse


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_table_of_the_page_reads_its_view(section: Section, tmp_path: Path) -> None:
    frame = select_frame(
        warehouse(make_lake(tmp_path)), section.query, section.name, {"benchmarks": ["b"]}
    )
    assert frame.is_empty()
    assert {column.field for column in section.columns} <= set(frame.columns)
