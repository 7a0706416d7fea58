"""A caption in place of the image, for judges that read text only. Where captions come from is planning's matter."""

from tasks.judging.types import Case, Verdict
from tasks.judging.wants import ImageMode


def check_caption(image: ImageMode, caption: str | None) -> None:
    """Raise ValueError where a caption would stand beside the image instead of in its place."""
    if caption is not None and image != "absent":
        raise ValueError(
            f"caption: {caption}; expected with `image: absent`, for it stands in for the image; add that or remove it"
        )


def find_missing_caption(case: Case, captioner: str | None) -> Verdict | None:
    """The verdict on a case that lacks the caption which stands in for its image; None where all is there."""
    if captioner is None or case.caption is not None:
        return None
    return Verdict(
        "failed", reason=f"the image has no caption of {captioner!r}, which stands in for it; add captions or let them be written"
    )
