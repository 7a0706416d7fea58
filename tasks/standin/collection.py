"""The stand-in's rules for prompts of the collection of feedback.

Rubrics. Each is made of an ability, a thing and a trade, which the image's digest draws (without an
image, the prompt's). A rubric fits an image if the first byte of sha256(image + rubric) is no
multiple of 4; a refined one has another ability.

Instruction. It asks for what the criterion names; the reference answer has eight sentences on what
the image's digest gives.

Augmentation. The rubric is drawn by image and task; the reference answer, where one is asked for,
is the first known right answer, and a sentence on what the image's digest gives.

Response. Of the reference answer's sentences a response of score s keeps the first 2 (s - 1); the
others give way to as many words about something else.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from judgelake.tasks.standin.rules import Asked, TokenReply, describe_image, split_tokens

_ABILITIES = (
    "names every visible part of",
    "counts and compares",
    "explains the purpose of",
    "weighs the risk around",
    "tells the history behind",
    "judges the condition of",
    "plans the next step with",
    "describes for a blind reader",
    "imagines a story about",
    "measures the distances between",
    "reads the writing on",
    "explains the colours and light of",
    "suggests a better use of",
    "questions what is hidden behind",
    "sorts by importance",
    "finds what is out of place among",
)
_THINGS = (
    "the objects in front, down to their materials",
    "people and what their hands hold",
    "signs, labels and other marks",
    "the tools on show",
    "plants and the season they point to",
    "vehicles, parked or moving",
    "furniture and its arrangement",
    "the sky, its clouds and its hour",
    "clothes and who may wear them",
    "animals and their posture",
    "buildings from ground to roof",
    "food and how it was prepared",
    "the shapes and lines of the picture",
    "traces of use and wear",
    "whatever moves",
    "reflections and shadows",
)
_TRADES = (
    "as a museum guide would do it for children",
    "so that an insurer could settle a claim",
    "with the care of a nurse",
    "for somebody who repairs such things",
    "as a witness before a court",
    "in the words of a good teacher",
    "for a shop that wants to sell it",
    "as a firefighter on arrival",
    "for a traveller with little time",
    "with an engineer's exactness",
    "for the editor of a newspaper",
    "as a gardener plans a year",
    "so that a robot could act on it",
    "for a film's set designer",
    "as a biologist keeps a field book",
    "for a lawyer's file",
)
_DEGREES = ("nothing of it", "a small part", "about half", "nearly all", "all of it")
_RUBRIC = re.compile(r"^(?:Rubric|Criterion \d+): (\{.*\})$", re.MULTILINE)
_WANTED = re.compile(r"^Form: (\d+) JSON objects", re.MULTILINE)
_NUMBER = re.compile(r"write the (\w+) that comes to mind")
_SCORE = re.compile(r"Write a response that deserves the score (\d)")
_REFERENCE = re.compile(
    r"^Reference response \(score 5\): (.*?)\n\n\* Response$", re.MULTILINE | re.DOTALL
)
_TASK = re.compile(r"^Task: (.*?)$", re.MULTILINE)
_KNOWN = re.compile(r"^Known right answers, which may be short:\s+- (.*?)$", re.MULTILINE)
_OTHER = (
    *("elsewhere", "somebody", "might", "perhaps", "speak"),
    *("about", "quite", "another", "matter", "instead"),
)


def collect_feedback(asked: Asked) -> TokenReply | None:
    """The answer to a prompt of the collection; None to any other."""
    ending = asked.text.rstrip().rsplit("\n", 1)[-1]
    rules = {
        "New rubrics:": _invent_rubrics,
        "Alignment:": _check_alignment,
        "Better rubric:": _refine_rubric,
        "Problem and response:": _write_instruction,
        "Response and feedback:": _write_response,
        "Rubric for the task:": _augment,
        "Rubric and response for the task:": _augment,
    }
    text = rules[ending](asked) if ending in rules else None
    return None if text is None else TokenReply(split_tokens(text), {})


def _invent_rubrics(asked: Asked) -> str | None:
    wanted = _WANTED.search(asked.text)
    if wanted is None:
        return None
    drawn = _draw(_seen(asked))
    return "\n".join(_spell(drawn[3 * n : 3 * n + 3]) for n in range(min(10, int(wanted[1]))))


def _spell(drawn: Sequence[int]) -> str:
    ability, thing, trade = (
        words[number % len(words)]
        for words, number in zip((_ABILITIES, _THINGS, _TRADES), drawn, strict=True)
    )
    levels = {
        f"score_{score}": f"It {ability} {degree} of what the image shows of {thing}."
        for score, degree in enumerate(_DEGREES, 1)
    }
    keywords = [ability.split()[0], thing.split()[-1].strip(","), trade.split()[-1]]
    criterion = f"Does the response show that it {ability} {thing}, {trade}?"
    return json.dumps({"criterion": criterion, **levels, "keywords": keywords})


def _check_alignment(asked: Asked) -> str | None:
    rubric = _find_rubric(asked)
    if rubric is None:
        return None
    return "align" if _draw(_seen(asked) + rubric)[0] % 4 else "misalign"


def _refine_rubric(asked: Asked) -> str | None:
    rubric = _find_rubric(asked)
    return None if rubric is None else _spell(_draw(f"refined {_seen(asked)} {rubric}")[:3])


def _write_instruction(asked: Asked) -> str | None:
    rubric = _find_rubric(asked)
    if rubric is None:
        return None
    criterion = json.loads(rubric)["criterion"]
    aim = criterion.removeprefix("Does the response show that it ").rstrip("?")
    sight = describe_image(_seen(asked)).removeprefix("The image shows ").rstrip(".")
    sentences = [
        f"What stands out first is {sight}.",
        "Light and distance leave little doubt about the main things.",
        f"An answer that {aim} has to begin there.",
        "The nearest thing is whole, and its outline is sharp.",
        "Behind it the scene grows simpler, with fewer colours.",
        "Two details do not fit a first impression, and deserve a second look.",
        "Taken together they point to an ordinary moment that was not arranged.",
        "What cannot be known from one picture is left open here.",
    ]
    number = _NUMBER.search(asked.text)
    start = "Looking at the scene" if number is None or number[1] == "first" else "Seen again"
    asks = f"{start}, which answer {aim}, and what in the picture is the reason?"
    return f"Problem: {asks}\n[NEXT]\nResponse: {' '.join(sentences)}\n[END]"


def _write_response(asked: Asked) -> str | None:
    score, reference = _SCORE.search(asked.text), _REFERENCE.search(asked.text)
    if score is None or reference is None:
        return None
    sentences = re.split(r"(?<=[.!?])\s+", reference[1].strip())
    kept = round(len(sentences) * (int(score[1]) - 1) / 4)
    others = [
        " ".join(_OTHER[word % len(_OTHER)] for word in range(len(sentence.split()))) + "."
        for sentence in sentences[kept:]
    ]
    feedback = (
        f"The response takes up {kept} of {len(sentences)} points that the image bears out. "
        f"So the overall score is {score[1]}."
    )
    text = " ".join([*sentences[:kept], *others])
    return f"Response: {text}\n[NEXT]\nFeedback: {feedback}\n[END]"


def _augment(asked: Asked) -> str | None:
    task = _TASK.search(asked.text)
    if task is None:
        return None
    rubric = _spell(_draw(f"augmented {_seen(asked)} {task[1]}")[:3])
    if not asked.text.rstrip().endswith("Rubric and response for the task:"):
        return rubric
    known = _KNOWN.search(asked.text)
    sight = describe_image(_seen(asked))
    return f"Rubric: {rubric}\n[NEXT]\nResponse: {known[1] + '. ' if known else ''}{sight}\n[END]"


def _find_rubric(asked: Asked) -> str | None:
    rubric = _RUBRIC.search(asked.text)
    return None if rubric is None else rubric[1]


def _seen(asked: Asked) -> str:
    return asked.images[0] if asked.images else hashlib.sha256(asked.text.encode()).hexdigest()


def _draw(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
