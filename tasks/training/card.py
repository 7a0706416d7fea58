"""The card of a trained judge: `README.md` in its folder, with what it was made from, what it
learnt and how its loss fell; and the curve as a picture.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judgelake.tasks.lake.storage import write_whole

CARD, CURVE = "README.md", "loss.svg"
_WIDTH, _HEIGHT, _EDGE = 640, 240, 36
_MOST_POINTS = 300


def write_card(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the card and the curve into a judge's folder."""
    write_whole(folder / CURVE, draw_curve(manifest["loss_by_step"]).encode())
    write_whole(folder / CARD, describe(manifest).encode())


def describe(manifest: Mapping[str, Any]) -> str:
    """The card as Markdown, with the front matter that hubs read."""
    settings, losses = manifest["settings"], manifest["loss_by_step"]
    held_out = manifest["held_out_loss"]
    left_out = [f"| left out | {n:,}: {reason} |" for reason, n in manifest["left_out"].items()]
    scores = ", ".join(f"{score}: {n:,}" for score, n in manifest["n_by_score"].items())
    base = manifest["base"].rpartition("@")[0]
    lines = [
        "---",
        f"base_model: {base}" if _is_hub_id(base) else "tags: [judge]",
        "library_name: transformers",
        "---",
        f"# {manifest['student']}",
        "",
        f"A judge that `judgelake train` made from `{manifest['base']}` on the verdicts of "
        f"`{settings['teacher']}`. It is meant for the prompts of its judge's settings alone.",
        "",
        "| what | value |",
        "|---|---|",
        f"| trained | `{settings['train']}`, {manifest['n_trained_weights']:,} weights |",
        f"| examples | {manifest['n_examples']:,} (score {scores}) |",
        f"| held out | {manifest['n_held_out']:,} examples |",
        *left_out,
        f"| steps | {manifest['n_steps']:,} of {settings['batch_size']} examples, "
        f"{settings['epochs']} epochs |",
        f"| examples a step | {_say_batch(manifest)} |",
        f"| learning rate | {settings['learning_rate']:g}, warm-up {settings['warmup']:g} of the "
        "steps, then a cosine |",
        f"| loss of a token | {losses[0]:.3f} at the first step, {losses[-1]:.3f} at the last |",
        f"| held-out loss | {'none held out' if held_out is None else f'{held_out:.3f}'} |",
        f"| data | `{manifest['data_digest']}` |",
        f"| versions | {', '.join(f'{k} {v}' for k, v in manifest['versions'].items())} |",
        "",
        f"![Loss of a token by step]({CURVE})",
        "",
    ]
    return "\n".join(lines)


def draw_curve(losses: Sequence[float]) -> str:
    """The loss by step as SVG; of more than 300 steps, means of as many equal parts."""
    n_points = min(len(losses), _MOST_POINTS)
    ends = [len(losses) * at // n_points for at in range(n_points + 1)]
    parts = [losses[start:end] for start, end in itertools.pairwise(ends)]
    means = [sum(part) / len(part) for part in parts]
    top = max(means) or 1.0
    width, height = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE
    points = " ".join(
        f"{_EDGE + width * at / max(n_points - 1, 1):.1f},{_EDGE + height * (1 - mean / top):.1f}"
        for at, mean in enumerate(means)
    )
    floor = _HEIGHT - _EDGE
    text = '<text font-family="sans-serif" font-size="12" fill="#444"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Loss of a token by step, from {losses[0]:.3f} to {losses[-1]:.3f}">'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        f'<path d="M{_EDGE} {_EDGE}V{floor}H{_WIDTH - _EDGE}" fill="none" stroke="#999"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="2"/>'
        f'{text} x="{_EDGE}" y="{_EDGE - 10}">loss of a token, at most {top:.2f}</text>'
        f'{text} x="{_EDGE}" y="{floor + 18}">step 1</text>'
        f'{text} x="{_WIDTH - _EDGE}" y="{floor + 18}" text-anchor="end">step '
        f"{len(losses):,}</text>"
        "</svg>\n"
    )


def _say_batch(manifest: Mapping[str, Any]) -> str:
    """Of what a step's examples are made up: passes whose gradients are summed, on all devices."""
    size, passes = manifest["settings"]["batch_size"], manifest["passes_a_step"]
    n = manifest.get("devices", 1)  # earlier versions trained on one
    on = f"{n} device{'s' if n > 1 else ''}"
    return f"{size} on {on}, in {passes:.1f} passes on average, whose gradients are summed"


def _is_hub_id(base: str) -> bool:
    return not Path(base).expanduser().is_dir() and not base.startswith("package:")
