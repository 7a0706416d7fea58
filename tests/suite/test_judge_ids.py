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
demo lave-standin 968c34e33826fc0c 8b2fce21
demo prometheus e46365dd7fd648c5 ba2156dd
demo chirp 9b0a4d7eafe4ce7f 21683f54
demo harmonic 790ce5ad4b294f1c 27aaf696
demo jury acd293ebb78bcb8c 57ee5d6b
demo why cee391ae08905f13 8881bf13
demo smollm2 81da4bca28ed3e33 04b1fc49
demo small-vlm 4504391df1195e9b ba2156dd
failure_modes lave-standin 3046ba442905d42c 8b2fce21
failure_modes why-looking 4aa674d71abeb1e7 8881bf13
failure_modes why-text 1ab146cae6e327c7 8881bf13
flickr8k_harmonic harmonic b627f5226afd69df 27aaf696
flickr8k_harmonic fleur 2542eb682ab4d843 38abf81d
flickr8k_harmonic reffleur b098e258250079dc 38abf81d
harmonic_ablations harmonic 790ce5ad4b294f1c 27aaf696
harmonic_ablations no-criteria 70bb43cf80a8b9a1 64a227c8
harmonic_ablations no-weighting 790ce5ad4b294f1c 3d63af1a
harmonic_ablations no-smoothing 790ce5ad4b294f1c ec3eec7a
harmonic_ablations gamma-0.01 790ce5ad4b294f1c 7bc9c3b0
harmonic_ablations gamma-0.50 790ce5ad4b294f1c 1260c5a8
harmonic_ablations selective 790ce5ad4b294f1c c88766c9
harmonic_ablations sampled 60c26a0146e6faf4 8a4317b0
harmonic_ablations no-image 7832211d312461f6 27aaf696
harmonic_ablations other-image f9690d19b401af0b 27aaf696
harmonic_ablations fleur e0443e23fc215bd8 38abf81d
harmonic_ablations reffleur be483cf13ff36744 38abf81d
harmonic_owleval harmonic 790ce5ad4b294f1c 27aaf696
harmonic_owleval harmonic-reason bbb965741c5c2ac3 27aaf696
harmonic_owleval directly 70bb43cf80a8b9a1 64a227c8
harmonic_owleval no-image 7832211d312461f6 27aaf696
harmonic_owleval other-image 38bfbeb4ab874887 27aaf696
harmonic_owleval fleur e0443e23fc215bd8 38abf81d
lave_ablations lave 3046ba442905d42c 8b2fce21
lave_ablations lave-1-shot f484c7849395d963 8b2fce21
lave_ablations lave-4-shot d40db8dea99dbe02 8b2fce21
lave_ablations lave-no-rationale 20d0cf40a9f9d4c1 8b2fce21
lave_ablations lave-no-filter 11c7cef779218e90 8b2fce21
lave_ablations lave-caption e22869a88eaf631c 8b2fce21
lave_ablations lave-weighted 968c34e33826fc0c 04b1fc49
llava_bench pairs 55ca09ee97c92353 6429fb42
llava_bench reference-image d31a2b2d44ed2081 6429fb42
llava_bench reference-caption bf73a06c94334abc 6429fb42
okvqa_ablations lave 85db782913dc459f cd7eb270
okvqa_ablations lave-1-shot 9a9b08c381a0ebe5 cd7eb270
okvqa_ablations lave-4-shot f06ec0983627504a cd7eb270
okvqa_ablations lave-no-rationale 7713597037c3451f cd7eb270
okvqa_ablations lave-no-filter e1ebba34045b2da5 cd7eb270
okvqa_lave lave 5aa7999c904b30cc 8b2fce21
prometheus_items prometheus 2bdd41ffc82e88a0 ba2156dd
prometheus_owleval captions 8a721f3bfc6f0983 2501887a
prometheus_owleval prometheus e46365dd7fd648c5 ba2156dd
prometheus_owleval prometheus-text 66f3c85a86f55fc1 ba2156dd
prometheus_owleval prometheus-swapped e62185e9bec78b81 ba2156dd
prometheus_owleval prometheus-blind 93924b7823e3a4d2 ba2156dd
prometheus_owleval feedback a3b6c8db14d28cc4 eff4c887
prometheus_training prometheus-own 29cb4043e1725bad ba2156dd
trained_judge greedy 4504391df1195e9b ba2156dd
trained_judge sampled 474b8e89b12382cf ba2156dd
trained_judge blind ce8b1dc3eff3fada ba2156dd
trained_judge misled 82a8ff45664eefef ba2156dd
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
