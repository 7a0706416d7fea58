"""The stand-in's rules for CHIRP's prompts: pairs, grades, answers of its own, and what another
judge's reasoning concludes.

Of a response, l is its number of distinct content words over 40, at most 1; q the share of the
question's content words that it takes up; s the share of its content words that the image bears
out, 1/2 without one; o the share of them that the stand-in's own answer holds, 0 without one. A
pair's better response is the heavier: l + q + s + o overall, l + q + o by relevance, l + q + s by
understanding, s - l / 10 by hallucinations, l + s by details. Equally heavy ones are a tie where
the prompt allows it, else the first.

With the correct answer a response is correct if the rule of answer rating gives it a 3. With the
image it is correct if s + o is at least 1/2, partially correct from 2/5 on where it is asked to
explain; without one, if it takes up a word of the question.
"""

import re

from judgelake.tasks.standin.rules import (
    Asked,
    RatingCase,
    TokenReply,
    content_words,
    describe_image,
    judge_case,
    share_borne_out,
    split_tokens,
)

# this and the patterns below follow the words of `judging/prompts/chirp_*.txt`
_QUESTION = re.compile(r"^Question: (.*?)\n\n", re.MULTILINE | re.DOTALL)
_OWN = r"Answer the question about (?:the image|an image that is not shown to you)\."
# the patterns here and below follow the words of `judging/prompts/chirp_*.txt`
_OWN_ALONE = re.compile(rf"Question: .*\n\n{_OWN}", re.DOTALL)
_OWN_ANSWER = re.compile(
    rf"\n{_OWN}\n(.*?)\n(?:Compare the responses of two assistants|Going by your own answer)",
    re.DOTALL,
)
# both responses, and the question by which criteria and form are known
_PAIR = re.compile(
    r"^Assistant 1 Response: (.*?)\n\nAssistant 2 Response: (.*?)\n\n(Taking everything|Which "
    r"assistant's response) (.*)",
    re.MULTILINE | re.DOTALL,
)
_CRITERIA: dict[str, dict[str, float]] = {
    "into account, which assistant's": {"l": 1, "q": 1, "s": 1, "o": 1},
    "keeps closer to the question": {"l": 1, "q": 1, "o": 1},
    "shows a better understanding": {"l": 1, "q": 1, "s": 1},
    "is truer to the image": {"s": 1, "l": -0.1},
    "describes the image in more detail": {"l": 1, "s": 1},
}
"""How a criterion's question goes on -> the weights of the terms."""
_ALLOWS_TIE = "or Tie where neither is better"
_EXPLAIN = re.compile(r"^Explain how you arrive at your (?:choice|verdict)", re.MULTILINE)
_EVALUATION = re.compile(
    r"\AThe text below (compares the responses of|evaluates an assistant's) "
    r".*?\nEvaluation:\n(.*)\Z",
    re.DOTALL,
)
# the stand-in's own reasoning, which it reads when asked to extract a verdict
_PREFERS = re.compile(r"\bI prefer Assistant ([12])\.|\bI call it a (tie)\.")
_FINDS = re.compile(r"\bI find the response (correct|partially correct|incorrect)\.")
_TEXT_GRADE = re.compile(
    r"\AYou grade a student's answer .*^Question: (.*?)\n\nCorrect Answer: (.*?)\n\nStudent's "
    r"Answer: (.*)\Z",
    re.M | re.S,
)
_IMAGE_GRADE = re.compile(
    r"^Assistant Response: (.*?)\n\n(?:Is this response correct\?|Reply with Correct or Incorrect)",
    re.M | re.S,
)
# distinct content words: beyond these a longer response weighs no more
_LONG = 40


def judge_chirp(asked: Asked) -> TokenReply | None:
    """The answer to one of CHIRP's prompts; None to any other."""
    for rule in (_extract, _answer_question, _compare, _grade_by_text, _grade_by_image):
        reply_text = rule(asked)
        if reply_text is not None:
            return TokenReply(split_tokens(reply_text), {})
    return None


def _extract(asked: Asked) -> str | None:
    match = _EVALUATION.search(asked.text)
    if not match:
        return None
    conclusions = list((_PREFERS if match[1].startswith("compares") else _FINDS).finditer(match[2]))
    return (
        (conclusions[-1][1] or conclusions[-1][2]).title()
        if conclusions
        else "The text comes to no conclusion."
    )


def _answer_question(asked: Asked) -> str | None:
    if not _OWN_ALONE.fullmatch(asked.text):
        return None
    return describe_image(asked.images[0]) if asked.images else "I cannot tell without the image."


def _compare(asked: Asked) -> str | None:
    pair, question = _PAIR.search(asked.text), _QUESTION.search(asked.text)
    factors = next(
        (factors for opening, factors in _CRITERIA.items() if pair and pair[4].startswith(opening)),
        None,
    )
    if not pair or not question or not factors:
        return None
    terms = [_find_terms(pair[side], question[1], asked) for side in (1, 2)]
    first, second = (sum(factor * term[name] for name, factor in factors.items()) for term in terms)
    choice = (
        "Tie" if first == second and _ALLOWS_TIE in pair[4] else "1" if first >= second else "2"
    )
    if not _EXPLAIN.search(pair[4]):
        return choice
    weights = f"On this, Assistant 1 weighs {first:.2f} and Assistant 2 weighs {second:.2f}."
    return f"{weights} {'I call it a tie.' if choice == 'Tie' else f'I prefer Assistant {choice}.'}"


def _find_terms(response: str, question: str, asked: Asked) -> dict[str, float]:
    words, wanted, own = (
        content_words(response),
        content_words(question),
        _OWN_ANSWER.search(asked.text),
    )
    seen = share_borne_out(words, asked.images, None)
    return {
        "l": min(1.0, len(words) / _LONG),
        "q": len(words & wanted) / max(1, len(wanted)),
        "s": 0.5 if seen is None else seen,
        "o": len(words & content_words(own[1])) / max(1, len(words)) if own else 0.0,
    }


def _grade_by_text(asked: Asked) -> str | None:
    match = _TEXT_GRADE.search(asked.text)
    if not match:
        return None
    references = tuple(part.strip() for part in match[2].split(";"))
    return (
        "Correct"
        if judge_case(RatingCase(match[1], references, match[3])).rating == 3
        else "Incorrect"
    )


def _grade_by_image(asked: Asked) -> str | None:
    graded, question = _IMAGE_GRADE.search(asked.text), _QUESTION.search(asked.text)
    if not graded or not question:
        return None
    terms = _find_terms(graded[1], question[1], asked)
    held = terms["s"] + terms["o"] if asked.images else float(terms["q"] > 0)
    if not _EXPLAIN.search(asked.text):
        return "Correct" if held >= 0.5 else "Incorrect"
    grade = "correct" if held >= 0.5 else "partially correct" if held >= 0.4 else "incorrect"
    return f"Of what the response says {held:.0%} is borne out. I find the response {grade}."
