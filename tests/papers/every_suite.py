"""One lake with the planted data of every suite that a table or figure of the papers names, and the
page made of it.

    python -m tests.papers.every_suite FOLDER

writes the lake and `papers.html` into FOLDER, to look at.
"""

import sys
from pathlib import Path

import numpy as np

from judgelake.flows.paper_command import write_page
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.papers.registry import list_papers
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.papers.test_chirp import Planted, plant_grading
from tests.papers.test_harmoniceval import plant_flickr8k, plant_mmhe
from tests.papers.test_lave import plant
from tests.papers.test_prometheus import plant_collection, plant_people, plant_samples

EVERY = [table for paper in list_papers().values() for table in paper.contents]


def plant_every_suite(folder: Path) -> Lake:
    """The lake in `folder`, all suites' data in it."""
    Planted(folder)
    plant_grading(folder)
    rng = np.random.default_rng(9)
    plant(folder, "lave", ["vqav2", "vg_qa", "okvqa"], rng)
    plant(folder, "lave_ablations", ["vqav2_dev", "vg_qa_dev"], rng)
    plant_samples(folder)
    plant_people(folder)
    plant_collection(folder)
    plant_mmhe(folder)
    return plant_flickr8k(folder)[0]


def write_whole_page(lake: Lake) -> str:
    """The page of all tables and figures."""
    with open_warehouse(lake, lazy=True) as connection:
        return write_page(connection, EVERY)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    (place / "papers.html").write_text(write_whole_page(plant_every_suite(place)), encoding="utf-8")
