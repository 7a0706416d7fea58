"""Models that metrics load: which one it is, what the error says where it cannot be loaded, and how text
becomes batches.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.local_models import (
    ModelSettings,
    TokenTexts,
    batch_by_length,
    find_token_limit,
    identify_model,
    load_config,
    load_model,
    load_tokenizer,
    resolve_device,
    tokenise_texts,
)
from tests.metrics.models import save_bart, save_bert, save_roberta


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> ModelSettings:
    return ModelSettings(str(save_bert(tmp_path_factory.mktemp("models") / "bert")))


def test_a_model_is_loaded_once_a_process(bert: ModelSettings) -> None:
    same = ModelSettings(bert.model, device="cpu", batch_tokens=3)
    assert load_model(bert, "AutoModel") is load_model(same, "AutoModel")
    assert load_tokenizer(bert) is load_tokenizer(same)
    assert load_model(bert, "AutoModel", 1) is not load_model(bert, "AutoModel", 2)


def test_changed_files_are_another_model(tmp_path: Path) -> None:
    settings = ModelSettings(str(save_bert(tmp_path / "bert")))
    before, loaded = identify_model(settings), load_model(settings, "AutoModel")
    save_bert(tmp_path / "bert", seed=1)
    assert identify_model(settings) != before
    assert load_model(settings, "AutoModel") is not loaded


def test_a_moved_model_is_the_same(tmp_path: Path) -> None:
    first = identify_model(ModelSettings(str(save_bert(tmp_path / "one" / "bert"))))
    assert identify_model(ModelSettings(str(save_bert(tmp_path / "two" / "bert")))) == first


def test_first_layers_are_those_of_the_whole_model(bert: ModelSettings) -> None:
    texts = load_tokenizer(bert)(["the cat sat"], return_tensors="pt")
    whole = transformers.AutoModel.from_pretrained(bert.model).eval()(
        **texts, output_hidden_states=True
    )
    for layers in range(4):
        cut = load_model(bert, "AutoModel", layers)(**texts).last_hidden_state
        np.testing.assert_allclose(cut.detach(), whole.hidden_states[layers].detach(), atol=1e-6)


def test_what_cannot_be_loaded_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hint = r"expected a hub id or a folder with config.*`hf download`"
    with pytest.raises(
        MetricError,
        match=rf"^nobody/nothing: cannot be loaded from the hub, revision v1 \(.*{hint}",
    ) as refused:
        load_tokenizer(ModelSettings("nobody/nothing", revision="v1"))
    assert "\n" not in str(refused.value)
    with pytest.raises(
        MetricError, match=rf"{tmp_path.name}: cannot be loaded as a local folder \(.*{hint}"
    ):
        load_model(ModelSettings(str(tmp_path)), "AutoModel")


def test_a_model_of_another_kind_is_refused(bert: ModelSettings) -> None:
    with pytest.raises(
        MetricError, match=r"cannot be loaded as a local folder .*Unrecognized configuration class"
    ):
        load_model(bert, "AutoModelForSeq2SeqLM")


def test_a_model_without_all_its_weights_is_refused(tmp_path: Path) -> None:
    folder = save_bart(tmp_path / "bart")
    model = transformers.BartForConditionalGeneration.from_pretrained(folder)
    kept = {
        name: weight
        for name, weight in model.state_dict().items()
        if "decoder.layers.1.fc1" not in name
    }
    model.save_pretrained(folder, state_dict=kept)
    with pytest.raises(
        MetricError,
        match=r"lack 2 weights of a BartForConditionalGeneration \(model\.decoder\.layers\.1\.fc1",
    ):
        load_model(ModelSettings(str(folder)), "AutoModelForSeq2SeqLM")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_missing_packages_name_the_install_line(
    package: str, bert: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MetricError, match=rf"package {package} is missing.*pip install 'judgelake\[local\]'"
    ):
        load_model(bert, "AutoModel")


def test_a_package_that_is_not_installed_has_no_version(
    bert: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judgelake.tasks.metrics import local_models

    with pytest.raises(
        MetricError, match=r"no-such-package is missing.*pip install 'judgelake\[local\]'"
    ):
        local_models._read_version("no-such-package")


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert [resolve_device("auto"), resolve_device("cpu")] == ["cpu", "cpu"]
    with pytest.raises(MetricError, match="device: 'cuda' is not available here"):
        resolve_device("cuda")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert [resolve_device("auto"), resolve_device("cpu"), resolve_device("cuda")] == [
        "cuda",
        "cpu",
        "cuda",
    ]


def test_a_folder_has_no_revision(bert: ModelSettings) -> None:
    with pytest.raises(ValueError, match=r"revision: 'v1'; expected none for a local folder"):
        ModelSettings(bert.model, revision="v1")


def test_loading_leaves_the_verbosity_of_transformers_alone(bert: ModelSettings) -> None:
    before = transformers.utils.logging.get_verbosity()
    load_model(bert, "AutoModel", 3)
    assert transformers.utils.logging.get_verbosity() == before


def test_the_longest_text_that_the_limit_admits_can_be_read(
    bert: ModelSettings, tmp_path: Path
) -> None:
    roberta = ModelSettings(
        str(save_roberta(tmp_path / "roberta"))
    )  # its tokenizer names no limit; 42 positions
    for settings, expected in ((bert, 40), (roberta, 40)):
        tokenizer, model = load_tokenizer(settings), load_model(settings, "AutoModel")
        limit = find_token_limit(tokenizer, load_config(settings))
        assert limit == expected
        texts = tokenise_texts(tokenizer, ["cat " * 100], limit)
        tokens, mask = texts.pad(np.array([0]), 0)
        assert model(input_ids=tokens, attention_mask=mask).last_hidden_state.shape[1] == limit


def test_padding_by_hand() -> None:
    texts = TokenTexts(np.array([7, 8, 9, 5, 6]), np.array([0, 3, 3, 5]))
    tokens, mask = texts.pad(np.array([2, 0, 1]), 1)
    assert tokens.tolist() == [[5, 6, 1], [7, 8, 9], [1, 1, 1]]
    assert mask.tolist() == [[1, 1, 0], [1, 1, 1], [0, 0, 0]]


def test_tokens_of_many_chunks_are_those_of_each_text(
    bert: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgelake.tasks.metrics.local_models.STRINGS_PER_CHUNK", 2)
    tokenizer: Any = load_tokenizer(bert)
    texts = ["the cat", "", "a dog runs", "x", "שלום"]
    found = tokenise_texts(tokenizer, texts, 40)
    for place, text in enumerate(texts):
        assert (
            found.tokens[found.offsets[place] : found.offsets[place + 1]].tolist()
            == tokenizer(text)["input_ids"]
        )
    assert tokenise_texts(tokenizer, [], 40).lengths.tolist() == []


@given(lengths=st.lists(st.integers(0, 50), max_size=40), batch_tokens=st.integers(1, 120))
def test_batches_hold_everything_once_within_their_bound(
    lengths: list[int], batch_tokens: int
) -> None:
    ids = np.arange(len(lengths)) + 100
    batches = list(batch_by_length(ids, np.array(lengths, np.int64), batch_tokens))
    assert sorted(np.concatenate([*batches, []]).tolist()) == ids.tolist()
    sizes = [[lengths[one - 100] for one in batch] for batch in batches]
    assert all(
        len(batch) == 1 or len(batch) * max(batch) <= batch_tokens for batch in sizes if max(batch)
    )
    flat = [length for batch in sizes for length in batch]
    assert flat == sorted(lengths, reverse=True)
