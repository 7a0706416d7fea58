"""The row of a trained judge in the table `trainings`, from the manifest of its folder."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from judgelake.tasks.lake.lake import Lake, append_records
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame

_SETTINGS = (
    "teacher",
    "base",
    "train",
    "epochs",
    "batch_size",
    "learning_rate",
    "warmup",
    "held_out",
    "seed",
)
_KNOWN = "select run_id from stg_trainings where judge_digest = $judge_digest"


def record_training(
    lake: Lake, manifest: Mapping[str, Any], judge_digest: str, run_id: str
) -> None:
    """Write the row of a judge that was trained, unless the lake has it: a run may end between the
    folder and the row, and the next one then writes it.
    """
    with open_warehouse(lake, lazy=True) as connection:
        known = select_frame(connection, _KNOWN, "trainings", {"judge_digest": judge_digest})
    if known.is_empty():
        append_records(lake, "trainings", [make_row(manifest, judge_digest, run_id)])


def make_row(manifest: Mapping[str, Any], judge_digest: str, run_id: str) -> dict[str, object]:
    """The row of `trainings` that a manifest gives; earlier versions noted no `seconds`."""
    settings = manifest["settings"]
    is_lora = settings["train"] == "lora"
    counts = manifest["n_by_score"].items()
    return {
        **{name: settings[name] for name in _SETTINGS},
        "judge_digest": judge_digest,
        "training_id": manifest["name"],
        "student": manifest["student"],
        "base_digest": manifest["base"].rpartition("@")[2],
        "data_digest": manifest["data_digest"],
        "learnt_part": settings.get("loss", "reply"),
        "lora_rank": settings["lora_rank"] if is_lora else None,
        "lora_alpha": settings["lora_alpha"] if is_lora else None,
        "n_examples": manifest["n_examples"],
        "n_held_out": manifest["n_held_out"],
        "n_trained_weights": manifest["n_trained_weights"],
        "scores": [{"score": int(score), "n": n} for score, n in counts],
        "left_out": [{"reason": reason, "n": n} for reason, n in manifest["left_out"].items()],
        "losses": manifest["loss_by_step"],
        "held_out_loss": manifest["held_out_loss"],
        "seconds": manifest.get("seconds"),
        "versions": json.dumps(manifest["versions"]),
        "run_id": run_id,
        "trained_at": datetime.now(UTC),
    }
