"""Tasks are read from plain tables, and what does not fit is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from headscope.errors import BadInput
from headscope.tasks.files import read_task


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_with_a_header_is_read_by_its_names(tmp_path):
    path = write(tmp_path, "t.tsv", "sentence1\tsentence2\tlabel\nA cat.\tA dog.\tno\nA\tA\tyes\n")
    task = read_task(path)
    assert task.texts == ("A cat.", "A") and task.text_pairs == ("A dog.", "A")
    assert task.classes == ("no", "yes") and task.labels.tolist() == [0, 1]
    assert task.kind == "classification" and task.metric == "accuracy"


def test_a_table_without_a_header_is_read_by_column_numbers(tmp_path):
    path = write(tmp_path, "t.tsv", "it was one of a kind\t1\nno good at all , really\t0\n")
    task = read_task(path, text="1", label="2")
    assert task.texts[1] == "no good at all , really" and task.labels.tolist() == [1, 0]


def test_quotes_in_tab_separated_text_are_text(tmp_path):
    path = write(tmp_path, "t.tsv", 'text\tlabel\nhe said "yes\t1\nand "no" too\t0\n')
    assert read_task(path).texts == ('he said "yes', 'and "no" too')


def test_comma_separated_cells_may_be_quoted(tmp_path):
    path = write(tmp_path, "t.csv", 'text,label\n"a, b",x\nc,y\n')
    assert read_task(path).texts == ("a, b", "c")


def test_lines_of_json_are_read(tmp_path):
    rows = [
        {"premise": "a", "hypothesis": "b", "label": 2},
        {"premise": "c", "hypothesis": "d", "label": 0},
    ]
    path = write(tmp_path, "t.jsonl", "\n".join(json.dumps(row) for row in rows))
    task = read_task(path)
    assert task.text_pairs == ("b", "d") and task.classes == ("0", "2")


def test_numbers_with_fractions_are_a_scale(tmp_path):
    path = write(tmp_path, "t.tsv", "text\tscore\na b\t2.5\nc d\t4\n")
    task = read_task(path)
    assert task.kind == "regression" and task.metric == "pearson"
    np.testing.assert_array_equal(task.labels, [2.5, 4.0])


def test_classes_are_ordered_as_numbers_when_they_are(tmp_path):
    path = write(tmp_path, "t.tsv", "text\tlabel\n" + "".join(f"t\t{n}\n" for n in (10, 2, 1)))
    assert read_task(path).classes == ("1", "2", "10")


def test_plain_text_is_a_language_task(tmp_path):
    path = write(tmp_path, "t.txt", "One line.\n\nAnother line.\n")
    task = read_task(path)
    assert task.kind == "masked" and task.texts == ("One line.", "Another line.")
    assert read_task(path, kind="next").kind == "next"


def test_a_saved_dataset_is_read_with_its_class_names(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    made = datasets.Dataset.from_dict({"sentence": ["a", "b"], "label": [1, 0]}, features=features)
    made.save_to_disk(str(tmp_path / "saved"))
    task = read_task(tmp_path / "saved")
    assert task.classes == ("bad", "good") and task.labels.tolist() == [1, 0]


def test_a_sample_keeps_the_first_order(tmp_path):
    path = write(
        tmp_path, "t.tsv", "text\tlabel\n" + "".join(f"t{n}\t{n % 2}\n" for n in range(50))
    )
    numbers = [int(text[1:]) for text in read_task(path).sample(10, seed=1).texts]
    assert numbers == sorted(numbers) and len(set(numbers)) == 10


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (
            "text\tlabel\na\t1\n",
            {"text": "review"},
            "no column 'review'; its columns are text, label",
        ),
        ("review\tlabel\na b c\t1\n", {}, "no text column; its columns are review, label"),
        ("text\tstars\na b c\tgood\n", {}, "no label column; its columns are text, stars"),
        ("text\tlabel\nonly one cell\n", {}, "line 2: 1 columns where the first line has 2"),
        ("text\tlabel\na\tx\n", {"kind": "regression"}, "'x' is not a number"),
        ("text\tlabel\na\tx\n", {"classes": ["y", "z"]}, "'x', which is none of y, z"),
        ("text\tlabel\na\tx\n", {"kind": "ranking"}, "no kind of task 'ranking'"),
        ("", {}, "is empty"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_one_sentence(tmp_path, content, options, sentence):
    path = write(tmp_path, "t.tsv", content)
    with pytest.raises(BadInput, match=r"^[^\n]+$") as caught:
        read_task(path, **options)
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(BadInput, match="There is no file"):
        read_task(tmp_path / "nothing.tsv")


def test_broken_json_names_its_line(tmp_path):
    path = write(tmp_path, "t.jsonl", '{"text": "a", "label": 1}\n{"text": \n')
    with pytest.raises(BadInput, match="line 2 is not JSON"):
        read_task(path)
