"""The official VQA evaluation (GT-Vision-Lab/VQA, vqaEval.py at a013f00), rewritten rule by rule,
question by question.

An oracle for `tasks.metrics.vqa_accuracy` and the peer of its benchmark: plain on purpose, and it
does per question the work that the official code does. The table of contractions is the official
one less the entries that never match a lower-case word, or that change nothing.
"""

import re
from collections.abc import Sequence

PUNCTUATION = [
    ";",
    "/",
    "[",
    "]",
    '"',
    "{",
    "}",
    "(",
    ")",
    "=",
    "+",
    "\\",
    "_",
    "-",
    ">",
    "<",
    "@",
    "`",
    ",",
    "?",
    "!",
]
PERIOD = re.compile(r"(?!<=\d)(\.)(?!\d)")
NUMBER_COMMA = re.compile(r"(\d)(,)(\d)")
PERIODS_AT_MOST = int(re.UNICODE)  # the flag stands where the count belongs

NUMBER_WORDS = {
    "none": "0",
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
}
DROPPED_WORDS = ["a", "an", "the"]
CONTRACTION_PAIRS = """
    'ow'sat:'ow's'at 'ows'at:'ow's'at aint:ain't arent:aren't cant:can't couldn'tve:couldn't've couldnt:couldn't
    couldnt've:couldn't've couldve:could've didnt:didn't doesnt:doesn't dont:don't hadn'tve:hadn't've hadnt:hadn't
    hadnt've:hadn't've hasnt:hasn't havent:haven't he'dve:he'd've hed:he'd hed've:he'd've hes:he's howd:how'd howll:how'll
    hows:how's isnt:isn't it'dve:it'd've itd:it'd itd've:it'd've itll:it'll maam:ma'am mightn'tve:mightn't've mightnt:mightn't
    mightnt've:mightn't've mightve:might've mustnt:mustn't mustve:must've neednt:needn't notve:not've oclock:o'clock
    oughtnt:oughtn't ow's'at:'ow's'at shant:shan't she'dve:she'd've shed've:she'd've shouldn'tve:shouldn't've shouldnt:shouldn't
    shouldnt've:shouldn't've shouldve:should've somebody'd:somebodyd somebody'dve:somebody'd've somebodyd've:somebody'd've
    somebodyll:somebody'll somebodys:somebody's someone'dve:someone'd've someoned:someone'd someoned've:someone'd've
    someonell:someone'll someones:someone's something'dve:something'd've somethingd:something'd somethingd've:something'd've
    somethingll:something'll thats:that's there'dve:there'd've thered:there'd thered've:there'd've therere:there're
    theres:there's they'dve:they'd've theyd:they'd theyd've:they'd've theyll:they'll theyre:they're theyve:they've twas:'twas
    wasnt:wasn't we'dve:we'd've wed've:we'd've werent:weren't weve:we've whatll:what'll whatre:what're whats:what's
    whatve:what've whens:when's whered:where'd wheres:where's whereve:where've who'dve:who'd've whod:who'd whod've:who'd've
    wholl:who'll whos:who's whove:who've whyll:why'll whyre:why're whys:why's wont:won't wouldn'tve:wouldn't've wouldnt:wouldn't
    wouldnt've:wouldn't've wouldve:would've y'all'dve:y'all'd've y'alld've:y'all'd've y'allll:y'all'll yall:y'all
    yall'd've:y'all'd've yall'll:y'all'll you'dve:you'd've youd:you'd youd've:you'd've youll:you'll youre:you're youve:you've
"""
CONTRACTED = dict(pair.split(":") for pair in CONTRACTION_PAIRS.split())

Annotation = dict[str, str | int]


def evaluate_question(answer: str, references: Sequence[str]) -> float:
    """One question: the references are annotations with an id each, as in the annotation files."""
    annotations: list[Annotation] = [
        {"answer": text, "answer_id": i} for i, text in enumerate(references, start=1)
    ]
    for annotation in annotations:
        annotation["answer"] = trim(str(annotation["answer"]))
    answer = trim(answer)
    if len({annotation["answer"] for annotation in annotations}) > 1:
        for annotation in annotations:
            annotation["answer"] = normalise(str(annotation["answer"]))
        answer = normalise(answer)
    return average_over_left_out(answer, annotations)


def evaluate_raw(answer: str, references: Sequence[str]) -> float:
    """The same agreement on the strings as they are."""
    return average_over_left_out(
        answer, [{"answer": text, "answer_id": i} for i, text in enumerate(references, start=1)]
    )


def average_over_left_out(answer: str, annotations: list[Annotation]) -> float:
    accuracies = []
    for left_out in annotations:
        others = [annotation for annotation in annotations if annotation != left_out]
        matching = [annotation for annotation in others if annotation["answer"] == answer]
        accuracies.append(min(1, float(len(matching)) / 3))
    return float(sum(accuracies)) / len(accuracies)


def trim(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()


def normalise(trimmed: str) -> str:
    return normalise_words(remove_punctuation(trimmed))


def remove_punctuation(text: str) -> str:
    result = text
    for mark in PUNCTUATION:
        if (mark + " " in text or " " + mark in text) or re.search(NUMBER_COMMA, text) is not None:
            result = result.replace(mark, "")
        else:
            result = result.replace(mark, " ")
    return PERIOD.sub("", result, PERIODS_AT_MOST)


def normalise_words(text: str) -> str:
    kept = []
    for word in text.lower().split():
        number = NUMBER_WORDS.get(word, word)
        if number not in DROPPED_WORDS:
            kept.append(number)
    for place, word in enumerate(kept):
        if word in CONTRACTED:
            kept[place] = CONTRACTED[word]
    return " ".join(kept)
