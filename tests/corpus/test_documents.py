"""Documents from every kind of source, and what is said of those that cannot be read."""

from __future__ import annotations

import gzip
import io
import json

import pandas as pd
import pytest

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Document, Reader
from headscope.corpus.text.segments import split_sentences
from headscope.corpus.text.wikitext import ordinary
from headscope.errors import BadInput


def read(corpus, faults=None, **options) -> list[str]:
    return [
        d.text for d in Reader(**options).documents(corpus, Faults() if faults is None else faults)
    ]


def test_lines_paragraphs_and_files(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    assert read(path) == ["one", "two", "three"]
    path.write_text("one\ntwo\n\nthree\n")
    assert read(path) == ["one\ntwo", "three"]
    assert read(path, layout="lines") == ["one", "two", "three"]
    assert read(path, layout="file") == ["one\ntwo\n\nthree\n"]


def test_wikitext_is_recognised_and_made_ordinary(tmp_path):
    path = tmp_path / "wiki.raw"
    path.write_text(
        " \n = Title = \n \n A guest @-@ starring role , in 1 @,@ 000 towns . \n"
        " = = Part = = \n It 's his . \n = Next = \n Second ( one ) . \n"
    )
    assert read(path) == ["A guest-starring role, in 1,000 towns.\nIt's his.", "Second (one)."]
    assert ordinary('He said " no " .') == 'He said "no".'


def test_a_line_that_is_spelled_as_a_title_makes_no_article(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("x @-@ y\n = Heading = \nthe cat sat .\nthe dog ran .\n")
    assert read(path) == ["x @-@ y", "= Heading =", "the cat sat .", "the dog ran ."]


def test_json_lines_and_their_faults(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [
        '{"text": "one"}',
        '{"text": "tw',
        '{"body": "x"}',
        '{"text": "  "}',
        '{"text": "two"}',
    ]
    path.write_text("\n".join(lines))
    faults = Faults()
    assert read(path, faults) == ["one", "two"]
    assert faults.counts["corrupt line"] == 1 and "a.jsonl:2" in str(faults.kept[0])
    assert faults.counts["no text"] == 1 and faults.counts["empty document"] == 2
    with pytest.raises(BadInput, match=r"a\.jsonl:2"):
        read(path, Faults("refuse"))


def test_parquet_by_column(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"body": ["one", "two"], "n": [1, 2]}).to_parquet(path)
    assert read(path, field="body") == ["one", "two"]
    with pytest.raises(BadInput, match="no column 'text'; it has body, n"):
        read(path)
    path.write_text("nonsense")
    with pytest.raises(BadInput, match="not a readable Parquet file"):
        read(path)


def test_a_treebank_gives_documents_of_sentences(tmp_path):
    path = tmp_path / "a.conllu"
    row = "{n}\t{w}\t{w}\tX\tX\t_\t{h}\tdep\t_\t_\n"
    sentence = row.format(n=1, w="Hello", h=0) + row.format(n=2, w="you", h=1) + "\n"
    path.write_text(
        f"# newdoc id = a\n# text = Hello you\n{sentence}{sentence}# newdoc id = b\n{sentence}"
    )
    found = list(Reader().documents(path, Faults()))
    assert [d.sentences for d in found] == [("Hello you", "Hello you"), ("Hello you",)]


def test_a_folder_in_order_of_name_compressed_files_too(tmp_path):
    (tmp_path / "b.txt").write_text("second\n")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write(json.dumps({"text": "first"}) + "\n")
    (tmp_path / "c.bin").write_bytes(b"\x00")
    assert read(tmp_path) == ["first", "second"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="holds no file"):
        read(tmp_path / "empty")


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n"))
    assert read("-") == ["one", "two"]


def test_a_dataset_and_python_iterables():
    datasets = pytest.importorskip("datasets")
    assert read(datasets.Dataset.from_dict({"text": ["one", "two"]})) == ["one", "two"]
    faults = Faults()
    given = ["one", ("two", "pair"), {"text": "three"}, Document("four"), 5, ("six", None)]
    found = list(Reader().documents(iter(given), faults))
    assert [d.text for d in found] == ["one", "two", "three", "four", "six"]
    assert found[1].pair == "pair" and faults.counts["not a text"] == 1


def test_what_is_no_corpus_is_said():
    with pytest.raises(BadInput, match="no file or folder"):
        read("no/such/file.txt")
    with pytest.raises(BadInput, match="not int"):
        read(5)


def test_sentences_end_at_full_stops_that_end_them():
    text = 'Dr. Smith met J. S. Bach. He said "No." Then he left! Was it 3.5 km? Yes.'
    assert split_sentences(text) == [
        "Dr. Smith met J. S. Bach.",
        'He said "No."',
        "Then he left!",
        "Was it 3.5 km?",
        "Yes.",
    ]


def test_a_tuple_is_a_pair_and_a_list_is_words():
    found = list(Reader().documents([("a b", "c d"), ["a", "b"]], Faults()))
    assert (found[0].text, found[0].pair) == ("a b", "c d")
    assert (found[1].text, found[1].pair) == ("a b", None)


def test_a_joined_hyphen_alone_makes_no_article(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("A guest @-@ starring role.\nTwo.\nThree.\n")
    assert len(read(path)) == 3


@pytest.mark.parametrize("ending,delimiter", [(".tsv", "\t"), (".csv", ",")])
def test_a_table_is_read_by_its_columns(tmp_path, ending, delimiter):
    path = tmp_path / f"a{ending}"
    header = ("id", "sentence1", "sentence2", "label")
    rows = [header, ("0", "one", "two", "x"), ("1", "", "b", "y")]
    path.write_text("\n".join(delimiter.join(row) for row in rows))
    faults = Faults()
    found = list(Reader().documents(path, faults))
    assert [(d.text, d.pair) for d in found] == [("one", "two")]
    assert faults.counts["half-empty pair"] == 1
    assert read(path, field="label") == ["x", "y"]
    path.write_text("one sentence here\nand two\n")
    assert read(path) == ["one sentence here", "and two"]


def test_a_data_frame_is_read_by_its_columns_never_by_their_names():
    frame = pd.DataFrame({"n": [1, 2], "text": ["one", "two"]})
    assert read(frame) == ["one", "two"]
    with pytest.raises(BadInput, match="no column 'body'; it has n, text"):
        read(frame, field="body")


BAD = {
    "utf16.txt": ("one\ntwo".encode("utf-16"), "UTF-16"),
    "plain16.txt": ("one two three four five".encode("utf-16-le"), "UTF-16"),
    "latin.txt": ("café\nnaïve\n".encode("latin-1"), "not UTF-8"),
    "report.docx": (b"PK\x03\x04" + b"\x00" * 40, "ZIP archive"),
    "a.bin": (bytes(range(256)), "binary"),
    "a.txt.gz": (gzip.compress(b"one\n" * 99)[:-8], "damaged"),
    "b.txt.gz": (b"nonsense", "damaged"),
    "a.txt.xz": (b"nonsense", "damaged"),
    "a.txt.bz2": (b"nonsense", "damaged"),
    "a.tar": (b"nonsense", "damaged"),
    "a.parquet": (b"PAR1nonsense", "not a readable Parquet file"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_text_is_refused_in_a_sentence(tmp_path, name):
    content, sentence = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=sentence):
        read(tmp_path / name)


def test_a_stray_byte_is_left_out_and_counted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"sound\n" * 99 + b"caf\xe9\n")
    faults = Faults()
    assert len(read(path, faults)) == 99 and faults.counts["not UTF-8"] == 1
    with pytest.raises(BadInput, match=r"a\.txt:100"):
        read(path, Faults("refuse"))


def test_skipping_really_skips(tmp_path):
    path = tmp_path / "a.jsonl"
    hostile = [
        '{"text": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"text": "half \\ud800"}',
        '{"text": "a", "text_pair": " "}',
        '{"text": null}',
        '{"text": 3}',
    ]
    path.write_text("\n".join([*hostile, '{"text": "sound"}']))
    faults = Faults()
    assert read(path, faults) == ["sound"]
    assert len(faults) >= len(hostile)


def test_a_pipe_that_nobody_writes_into_is_refused(tmp_path):
    import os
    import threading

    from headscope.corpus.open_text import opened

    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(BadInput, match="No process writes"):
        opened(path, patience=0.2)
    writer = threading.Thread(target=lambda: path.write_text("one\ntwo\n"))
    writer.start()
    assert read(path) == ["one", "two"]
    writer.join()
