"""The store of embeddings: what was kept is found again bit for bit, by whoever asks, and nothing
is embedded twice.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics.embeddings import EmbeddingStore, Vectors, digest_texts, embed_once
from judgelake.tasks.metrics.pairs import Ids
from tests.lakes import make_lake, query

TEXTS = [f"text {number}" for number in range(40)]
DIGESTS = digest_texts(TEXTS)
VECTORS = np.random.default_rng(0).standard_normal((40, 5), dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> EmbeddingStore:
    return EmbeddingStore(make_lake(tmp_path), "encoder one")


def embed_rows(asked: list[list[int]]) -> object:
    """An encoder that knows `VECTORS` and remembers what it was asked."""

    def embed(places: Ids) -> Vectors:
        asked.append(places.tolist())
        return VECTORS[places]

    return embed


def test_what_was_kept_is_found_bit_for_bit_in_the_order_asked(store: EmbeddingStore) -> None:
    store.keep(DIGESTS[:10], VECTORS[:10])
    store.keep(DIGESTS[10:30], VECTORS[10:30])
    wanted = np.random.default_rng(1).permutation(40)
    known, vectors = store.find([DIGESTS[place] for place in wanted])
    assert known.tolist() == (wanted < 30).tolist()
    assert vectors.tobytes() == VECTORS[wanted[wanted < 30]].tobytes()


def test_nothing_kept_or_nothing_asked_is_nothing_found(store: EmbeddingStore) -> None:
    for digests in ([], DIGESTS):
        known, vectors = store.find(digests)
        assert not known.any()
        assert (len(known), len(vectors)) == (len(digests), 0)


def test_encoders_do_not_see_each_others_vectors(store: EmbeddingStore) -> None:
    store.keep(DIGESTS, VECTORS)
    other = EmbeddingStore(store.lake, "encoder two")
    assert not other.find(DIGESTS).known.any()
    other.keep(DIGESTS, VECTORS[:, :3])
    assert other.find(DIGESTS[:1]).vectors.shape == (1, 3)
    assert store.find(DIGESTS[:1]).vectors.shape == (1, 5)


def test_two_workers_that_keep_the_same_do_no_harm(store: EmbeddingStore) -> None:
    store.keep(DIGESTS[:20], VECTORS[:20])
    store.keep(DIGESTS[10:30], VECTORS[10:30])
    assert store.find(DIGESTS[:30]).vectors.tobytes() == VECTORS[:30].tobytes()
    (row,) = query(
        store.lake, "select count(*) as n, count(distinct digest) as n_digests from embeddings"
    )
    assert row == {"n": 30, "n_digests": 30}
    assert query(store.lake, "select count(*) as n from raw_embeddings") == [{"n": 40}]


def test_sql_finds_the_vector_of_a_text(store: EmbeddingStore) -> None:
    store.keep(DIGESTS, VECTORS)
    (row,) = query(
        store.lake,
        "select encoder_signature, vector from embeddings where digest = sha256('text 7')",
    )
    assert row["encoder_signature"] == "encoder one"
    np.testing.assert_array_equal(np.array(row["vector"], np.float32), VECTORS[7])


def test_vectors_are_read_only_where_one_is_wanted(
    store: EmbeddingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start in range(0, 40, 10):
        store.keep(DIGESTS[start : start + 10], VECTORS[start : start + 10])
    read: list[str] = []

    class Watched(pq.ParquetFile):  # type: ignore[misc]
        def read(self, columns: Sequence[str]) -> object:
            read.extend(columns)
            return super().read(columns=columns)

    monkeypatch.setattr(pq, "ParquetFile", Watched)
    assert store.find(DIGESTS[12:15]).known.all()
    assert sorted(read) == ["digest"] * 4 + ["vector"]


def test_only_what_is_missing_is_embedded_the_cheap_first(store: EmbeddingStore) -> None:
    store.keep(DIGESTS[:3], VECTORS[:3])
    asked: list[list[int]] = []
    costs = np.arange(8)[::-1]
    for _ in range(2):
        vectors = embed_once(DIGESTS[:8], costs, embed_rows(asked), store, chunk=2)  # type: ignore[arg-type]
        assert vectors.tobytes() == VECTORS[:8].tobytes()
    assert asked == [[7, 6], [5, 4], [3]]


def test_without_a_store_all_is_embedded() -> None:
    asked: list[list[int]] = []
    vectors = embed_once(DIGESTS[:5], np.zeros(5, np.int64), embed_rows(asked), None, chunk=3)  # type: ignore[arg-type]
    assert asked == [[0, 1, 2], [3, 4]]
    assert vectors.tobytes() == VECTORS[:5].tobytes()


def test_a_crash_loses_only_the_chunk_under_way(store: EmbeddingStore) -> None:
    def embed(places: Ids) -> Vectors:
        if 4 in places:
            raise KeyboardInterrupt
        return VECTORS[places]

    with pytest.raises(KeyboardInterrupt):
        embed_once(DIGESTS[:6], np.arange(6), embed, store, chunk=2)
    assert store.find(DIGESTS[:6]).known.tolist() == [True] * 4 + [False] * 2


def test_what_could_not_be_embedded_is_not_kept(store: EmbeddingStore) -> None:
    def embed(places: Ids) -> Vectors:
        return np.where(places[:, None] == 1, np.float32(np.nan), VECTORS[places])

    vectors = embed_once(DIGESTS[:3], np.zeros(3, np.int64), embed, store, chunk=8)
    assert np.isnan(vectors).any(axis=1).tolist() == [False, True, False]
    assert store.find(DIGESTS[:3]).known.tolist() == [True, False, True]


def test_digest_is_that_of_sql(store: EmbeddingStore) -> None:
    texts = ["", "a cat", "שלום 👩‍👩‍👧"]
    rows = query(
        store.lake,
        "select sha256(text) as digest from (select unnest($texts) as text)",
        {"texts": texts},
    )
    assert digest_texts(texts) == [row["digest"] for row in rows]


def test_part_files_are_immutable_and_of_one_encoder(store: EmbeddingStore) -> None:
    lake: Lake = store.lake
    store.keep(DIGESTS[:2], VECTORS[:2])
    store.keep(DIGESTS[:2], VECTORS[:2])
    (part,) = lake.part_files("embeddings")
    assert part.parent.name == f"encoder={store.encoder}"
