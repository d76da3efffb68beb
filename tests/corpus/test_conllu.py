"""CoNLL-U: what is read, and how faults are named."""

from __future__ import annotations

import gzip
import lzma
import tarfile

import pytest

from headscope.corpus.bad_data import Faults
from headscope.corpus.treebanks.treebank import Treebank, read_trees
from headscope.errors import BadInput


def row(number, form, head, relation, misc="_"):
    return f"{number}\t{form}\t_\tX\tXX\t_\t{head}\t{relation}\t_\t{misc}\n"


GOOD = (
    "# sent_id = a\n# text = I can't\n"
    + row(1, "I", 2, "nsubj")
    + (
        "2-3\tcan't"
        + "\t_" * 8
        + "\n"
        + row(2, "ca", 0, "root")
        + row(3, "n't", 2, "advmod")
        + "\n"
    )
)
EMPTY_NODE = (
    row(1, "Ann", 0, "root") + "1.1\tleft" + "\t_" * 8 + "\n" + row(2, "too", 1, "advmod") + "\n"
)


def bank(tmp_path, text, name="x.conllu"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_words_of_a_multi_word_token_stand_for_themselves(tmp_path):
    (sentence,) = Treebank(bank(tmp_path, GOOD))
    assert sentence.words == ("I", "ca", "n't")
    assert sentence.heads == (1, -1, 1) and sentence.relations == ("nsubj", "root", "advmod")
    assert (sentence.name, sentence.where, sentence.lines) == ("a", "x.conllu:3", (3, 5, 6))


def test_empty_nodes_are_passed_over(tmp_path):
    (sentence,) = Treebank(bank(tmp_path, EMPTY_NODE))
    assert sentence.words == ("Ann", "too")


FAULTS = {
    "malformed line": (
        GOOD + "1\tonly\tthree\n\n",
        "x.conllu:8: a line has 3 columns instead of 10",
    ),
    "cycle": (row(1, "a", 2, "x") + row(2, "b", 1, "x") + row(3, "c", 0, "root"), "x.conllu:1"),
    "head outside": (row(1, "a", 9, "x"), "x.conllu:1: head 9 lies outside the sentence"),
    "several roots": (row(1, "a", 0, "root") + row(2, "b", 0, "root"), "x.conllu:2"),
    "mismatched text": ("# text = something else\n" + row(1, "a", 0, "root"), "x.conllu:2"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_named_by_file_and_line_then_skipped_or_refused(tmp_path, kind):
    text, said = FAULTS[kind]
    path = bank(tmp_path, text + "\n" + row(1, "fine", 0, "root") + "\n")
    kept = Treebank(path)
    assert list(kept)[-1].words == ("fine",)
    assert kept.faults.counts == {kind: 1} and said in kept.faults.summary()
    with pytest.raises(BadInput, match=said.replace("(", ".").split(" ")[0]):
        list(Treebank(path, bad_data="refuse"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (row(3, "a", 0, "root"), "word number '3' stands where 1 should"),
        (row(1, "a", "_", "root"), "head '_' is not a word number"),
        (row(1, "", 0, "root"), "a word has no form"),
    ],
)
def test_every_malformed_line_says_what_is_wrong_with_it(tmp_path, line, said):
    kept = Treebank(bank(tmp_path, line))
    assert not list(kept) and said in kept.faults.summary()


def test_a_second_pass_does_not_count_faults_twice(tmp_path):
    kept = Treebank(bank(tmp_path, FAULTS["cycle"][0]))
    assert not list(kept) and not list(kept)
    assert len(kept.faults) == 1


def test_files_folders_and_archives_read_alike(tmp_path):
    path = bank(tmp_path, GOOD + EMPTY_NODE)
    expected = [s.words for s in Treebank(path)]
    (tmp_path / "x.conllu.xz").write_bytes(lzma.compress(path.read_bytes()))
    (tmp_path / "x.conllu.gz").write_bytes(gzip.compress(path.read_bytes()))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.conllu").write_text(GOOD)
    (folder / "b.conllu").write_text(EMPTY_NODE)
    with tarfile.open(tmp_path / "x.tar.xz", "w:xz") as archive:
        archive.add(folder, "folder")
    for name in ("x.conllu.xz", "x.conllu.gz", "folder", "x.tar.xz"):
        assert [s.words for s in Treebank(tmp_path / name)] == expected, name


def test_notes_beside_a_treebank_are_not_parsed_as_sentences(tmp_path):
    (tmp_path / "en.conllu").write_text(GOOD)
    (tmp_path / "README.txt").write_text("This treebank was made by hand.")
    assert [s.words for s in Treebank(tmp_path)] == [
        s.words for s in Treebank(bank(tmp_path, GOOD))
    ]


def test_a_missing_file_and_an_empty_folder_are_said_plainly(tmp_path):
    with pytest.raises(BadInput, match="no file or folder"):
        list(Treebank(tmp_path / "absent.conllu"))
    with pytest.raises(BadInput, match="holds no file that ends in"):
        list(Treebank(tmp_path))


def test_the_english_web_treebank_reads_whole(shared_data):
    faults = Faults("refuse")
    found = list(read_trees(shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu", faults))
    assert len(found) == 2001 and sum(map(len, found)) == 25147
