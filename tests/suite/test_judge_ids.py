"""Identities of the judges of the suites that come with the project: a change here asks every reply
again.
"""

from pathlib import Path

import pytest

from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT

JUDGES = """
chirp_all_robin gpt4v-r ff216ce45cc8e6f9 21683f54
chirp_all_robin davinci 39dd022eb560c170 5cff6df4
chirp_demo strings 35cc2728ecca5d63 1ae0f4a2
chirp_demo llm bce360e27fbf9bb6 1ae0f4a2
chirp_demo vlm-simple f3fc0f43257cd77a 1ae0f4a2
chirp_demo vlm-two-turn 2e3fddfc00ce543f 1ae0f4a2
chirp_demo vlm-reasoning 61e9fba6915e3986 1ae0f4a2
chirp_demo vlm-absent 23b62ec8f8a68f9f 1ae0f4a2
chirp_demo vlm-swapped 7037ccf683c637c9 1ae0f4a2
chirp_demo cascade 26d6ebcdbf501fbd 1ae0f4a2
chirp_grading strings-gqa 35cc2728ecca5d63 1ae0f4a2
chirp_grading strings-textvqa 993427d6b9daed7d 1ae0f4a2
chirp_grading llm b932b55c3de1fd17 1ae0f4a2
chirp_grading gpt4v 63d2fa9a2727316d 1ae0f4a2
chirp_grading llava-34b 71a20435d45b0f9a 1ae0f4a2
chirp_grading cascade 21f00c62c51e85b2 1ae0f4a2
chirp_llm_size gpt4v-s cac6af775de6ace7 21683f54
chirp_llm_size gpt4v-r ff216ce45cc8e6f9 21683f54
chirp_llm_size llava-34b fd0cfd5e8ecae35e 21683f54
chirp_owleval simple 9b0a4d7eafe4ce7f 21683f54
chirp_owleval simple-absent 65f93dc222df5374 21683f54
chirp_owleval simple-swapped 3efde1e7d70300b3 21683f54
chirp_owleval reasoning fab818603f7abf1e 21683f54
chirp_owleval two-turn 028f62439450d51f 21683f54
chirp_owleval likelihood 2c4f88bc679949dc 5cff6df4
chirp_ve_size gpt4v-s cac6af775de6ace7 21683f54
chirp_ve_size gpt4v-r ff216ce45cc8e6f9 21683f54
chirp_ve_size llava-34b fd0cfd5e8ecae35e 21683f54
demo lave-standin 968c34e33826fc0c 335e986a
demo prometheus e46365dd7fd648c5 0a018d10
demo chirp 9b0a4d7eafe4ce7f 21683f54
demo harmonic 790ce5ad4b294f1c b9fdf048
demo jury a03ac62bad851d21 57ee5d6b
demo why cee391ae08905f13 850dd2ca
demo smollm2 81da4bca28ed3e33 303a7b88
demo small-vlm 4504391df1195e9b 0a018d10
failure_modes lave-standin 3046ba442905d42c 335e986a
failure_modes why-looking 4aa674d71abeb1e7 850dd2ca
failure_modes why-text 1ab146cae6e327c7 850dd2ca
flickr8k_harmonic harmonic b627f5226afd69df b9fdf048
flickr8k_harmonic fleur 2542eb682ab4d843 3df77e06
flickr8k_harmonic reffleur b098e258250079dc 3df77e06
harmonic_ablations harmonic 790ce5ad4b294f1c b9fdf048
harmonic_ablations no-criteria 70bb43cf80a8b9a1 a5f066f2
harmonic_ablations no-weighting 790ce5ad4b294f1c d353a8ed
harmonic_ablations no-smoothing 790ce5ad4b294f1c b7792c06
harmonic_ablations gamma-0.01 790ce5ad4b294f1c ea17ea61
harmonic_ablations gamma-0.50 790ce5ad4b294f1c cfcd593f
harmonic_ablations selective 790ce5ad4b294f1c 8ba7fed7
harmonic_ablations sampled 60c26a0146e6faf4 f4514a65
harmonic_ablations no-image 7832211d312461f6 b9fdf048
harmonic_ablations other-image f9690d19b401af0b b9fdf048
harmonic_ablations fleur e0443e23fc215bd8 3df77e06
harmonic_ablations reffleur be483cf13ff36744 3df77e06
harmonic_owleval harmonic 790ce5ad4b294f1c b9fdf048
harmonic_owleval harmonic-reason bbb965741c5c2ac3 b9fdf048
harmonic_owleval directly 70bb43cf80a8b9a1 a5f066f2
harmonic_owleval no-image 7832211d312461f6 b9fdf048
harmonic_owleval other-image 38bfbeb4ab874887 b9fdf048
harmonic_owleval fleur e0443e23fc215bd8 3df77e06
lave_ablations lave 3046ba442905d42c 335e986a
lave_ablations lave-1-shot f484c7849395d963 335e986a
lave_ablations lave-4-shot d40db8dea99dbe02 335e986a
lave_ablations lave-no-rationale 20d0cf40a9f9d4c1 335e986a
lave_ablations lave-no-filter 11c7cef779218e90 335e986a
lave_ablations lave-caption e22869a88eaf631c 335e986a
lave_ablations lave-weighted 968c34e33826fc0c 303a7b88
llava_bench pairs 55ca09ee97c92353 6429fb42
llava_bench reference-image d31a2b2d44ed2081 6429fb42
llava_bench reference-caption bf73a06c94334abc 6429fb42
okvqa_ablations lave 85db782913dc459f 38ed1e8a
okvqa_ablations lave-1-shot 9a9b08c381a0ebe5 38ed1e8a
okvqa_ablations lave-4-shot f06ec0983627504a 38ed1e8a
okvqa_ablations lave-no-rationale 7713597037c3451f 38ed1e8a
okvqa_ablations lave-no-filter e1ebba34045b2da5 38ed1e8a
okvqa_lave lave 5aa7999c904b30cc 335e986a
prometheus_items prometheus 2bdd41ffc82e88a0 0a018d10
prometheus_owleval captions 8a721f3bfc6f0983 2501887a
prometheus_owleval prometheus e46365dd7fd648c5 0a018d10
prometheus_owleval prometheus-text 66f3c85a86f55fc1 0a018d10
prometheus_owleval prometheus-swapped e62185e9bec78b81 0a018d10
prometheus_owleval prometheus-blind 93924b7823e3a4d2 0a018d10
prometheus_owleval feedback a3b6c8db14d28cc4 eff4c887
prometheus_training prometheus-own 29cb4043e1725bad 0a018d10
trained_judge greedy 4504391df1195e9b 0a018d10
trained_judge sampled 474b8e89b12382cf 0a018d10
trained_judge blind ce8b1dc3eff3fada 0a018d10
trained_judge misled 82a8ff45664eefef 0a018d10
"""
"""Suite, judge, judge_id and reading as they were when the suite's settings became pydantic's."""


def test_judges_keep_their_identities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGELAKE_DATA", str(tmp_path))
    found = [
        f"{file.stem} {alias} {identity.judge_id} {identity.reading}"
        for file in sorted((CHECKOUT / "infra" / "suites").glob("*.yaml"))
        for alias, judge in read_suite(file).judges.items()
        for identity in [judge.identify(())]
    ]
    assert found == JUDGES.split("\n")[1:-1]
