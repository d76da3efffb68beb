"""Readers of links: what each format says, and every line that says nothing."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.links.contacts import read_contacts
from headscope.corpus.links.linked import read_jsonl
from headscope.corpus.links.pharaoh import read_one_file, read_pharaoh
from headscope.corpus.links.reactions import reaction, read_reactions
from headscope.corpus.links.word_times import read_word_times, words_of
from headscope.errors import BadInput


def test_pharaoh_links_source_and_target_words(tmp_path):
    (tmp_path / "en").write_text("the black cat\nhello\n")
    (tmp_path / "de").write_text("die schwarze Katze\nhallo\n")
    (tmp_path / "links").write_text("0-0 1-1 2p2\n0-0 0-4 x\n")
    faults = Faults()
    one, two = read_pharaoh(tmp_path / "en", tmp_path / "de", tmp_path / "links", faults)
    assert [one.other[a:b] for (a, b) in (pair.query for pair in one.pairs)] == [
        "die", "schwarze", "Katze",
    ]  # fmt: skip
    assert [one.text[a:b] for (a, b) in (pair.target for pair in one.pairs)] == [
        "the", "black", "cat",
    ]  # fmt: skip
    assert [pair.sure for pair in one.pairs] == [True, True, False]
    assert len(two.pairs) == 1 and dict(faults.counts) == {"span outside": 1, "malformed pair": 1}


def test_texts_with_different_numbers_of_lines_are_refused(tmp_path):
    (tmp_path / "en").write_text("a\nb\n")
    (tmp_path / "de").write_text("a\n")
    (tmp_path / "links").write_text("0-0\n0-0\n")
    with pytest.raises(BadInput, match="ends before line 2"):
        list(read_pharaoh(tmp_path / "en", tmp_path / "de", tmp_path / "links", Faults()))


def test_one_file_holds_all_three_parts(tmp_path):
    (tmp_path / "gold").write_text("a b ||| c d ||| 0-1\nbroken\n")
    faults = Faults()
    (one,) = read_one_file(tmp_path / "gold", faults)
    assert one.other[slice(*one.pairs[0].query)] == "d" and faults.counts["malformed line"] == 1


def test_atoms_are_linked_by_their_map_numbers_and_the_numbers_are_gone():
    faults = Faults()
    one = reaction(
        "[CH3:1][C:2](=[O:3])[Cl:9].[NH2:4][c:5]1[cH:6][nH:7][cH:8][n+:10]1C>[Na+]>"
        "[CH3:1][C:2](=[O:3])[NH:4][c:5]1[cH:6][nH:7][cH:8][n+:10]1C", "here", faults,
    )  # fmt: skip
    assert one.text == "CC(=O)Cl.Nc1c[nH]c[n+]1C.[Na+]>>CC(=O)Nc1c[nH]c[n+]1C"
    linked = [
        (one.text[slice(*pair.query)], one.text[slice(*pair.target)], pair.query[0] > 30)
        for pair in one.pairs
    ]
    assert all(query == target and after for query, target, after in linked)
    assert len(linked) == 9 and len(one.queries) == 10 and len(one.candidates) == 12
    assert one.groups[1].count("Na") == 1 and not faults.counts


def test_atoms_that_come_from_nowhere_are_counted():
    faults = Faults()
    reaction("[CH3:1][OH:2]>>[CH3:1][OH:3]", "here", faults)
    assert reaction("CCO", "here", faults) is None
    assert reaction("C[x!]>>C", "here", faults) is None
    assert dict(faults.counts) == {"unaligned": 1, "malformed line": 2}


def test_contacts_come_as_pairs_or_as_distances(tmp_path):
    near = np.full((12, 12), 20.0)
    near[0, 9] = near[9, 0] = 5.0
    near[0, 1] = 3.0
    rows = [
        {"sequence": "ACDEFGHIKLMN", "contacts": [[0, 9], [0, 2], [3, 40], "x"]},
        {"sequence": "ACDEFGHIKLMN", "distances": near.tolist()},
        {"sequence": "ACD", "distances": near.tolist()},
        {"sequence": 5},
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n{\n")
    faults = Faults()
    one, two = read_contacts(tmp_path / "p.jsonl", faults)
    assert {(pair.query[0], pair.target[0]) for pair in one.pairs} == {(0, 9), (9, 0)}
    assert one.pairs == two.pairs
    assert dict(faults.counts) == {
        "span outside": 1, "malformed pair": 1, "malformed line": 3, "no links": 1, "too near": 1,
    }  # fmt: skip


def test_word_times_are_read_from_three_formats(tmp_path):
    (tmp_path / "a.ctm").write_text(
        "a 1 0.5 0.25 hello\na 1 0.75 0.2 <eps>\na 1 0.95 0.5 world\nx\n"
    )
    (tmp_path / "b.TextGrid").write_text(
        'item []:\n item [1]:\n name = "phones"\n intervals [1]:\n xmin = 0\n xmax = 1\n'
        ' text = "h"\n item [2]:\n name = "words"\n intervals [1]:\n xmin = 0.5\n xmax = 0.75\n'
        ' text = "hello"\n intervals [2]:\n xmin = 0.75\n xmax = 0.95\n text = ""\n'
        ' intervals [3]:\n xmin = 0.95\n xmax = 1.45\n text = "world"\n'
    )
    (tmp_path / "c.json").write_text(
        json.dumps({"segments": [{"words": [
            {"word": " hello", "start": 0.5, "end": 0.75},
            {"word": " world", "start": 0.95, "end": 1.45},
        ]}]})
    )  # fmt: skip
    faults = Faults()
    read = [words_of(tmp_path / name, faults) for name in ("a.ctm", "b.TextGrid", "c.json")]
    for words in read:
        assert [word.word for word in words] == ["hello", "world"]
        np.testing.assert_allclose([word[1:] for word in words], [[0.5, 0.75], [0.95, 1.45]])
    assert dict(faults.counts) == {"malformed line": 1}


def test_textgrids_are_long_or_short_and_in_any_encoding_of_praats(tmp_path):
    head = 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n'
    long = (
        "xmin = 0\nxmax = 1\ntiers? <exists>\nsize = 1\nitem []:\n item [1]:\n"
        '  class = "IntervalTier"\n  name = "words"\n  xmin = 0\n  xmax = 1\n'
        '  intervals: size = 2\n  intervals [1]:\n   xmin = 0\n   xmax = 0.5\n   text = "né"\n'
        '  intervals [2]:\n   xmin = 0.5\n   xmax = 1\n   text = ""\n'
    )
    short = (
        '0\n1\n<exists>\n2\n"IntervalTier"\n"phones"\n0\n1\n1\n0\n1\n"n"\n'
        '"IntervalTier"\n"speaker - words"\n0\n1\n3\n0\n0.5\n"né"\n0.5\n1\n""\n0,5\n1\n"a"\n'
    )
    for text, bad in ((long, 0), (short, 1)):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            (tmp_path / "a.TextGrid").write_bytes((head + text).encode(encoding))
            words = words_of(tmp_path / "a.TextGrid", faults := Faults())
            assert [tuple(word) for word in words] == [("né", 0.0, 0.5)]
            assert faults.counts.get("malformed line", 0) == bad  # 0,5 is no number


def test_words_of_whispers_api_are_read_and_a_word_without_a_time_stays_in_the_transcript(tmp_path):
    words = [{"word": "in", "start": 0.1, "end": 0.2}, {"word": "2014."},
             {"word": "it", "start": 0.9, "end": 1.0}]  # fmt: skip
    (tmp_path / "a[1].wav").write_bytes(b"")
    (tmp_path / "a[1].json").write_text(json.dumps({"text": "in 2014. it", "words": words}))
    (tmp_path / "b.wav").write_bytes(b"")
    (tmp_path / "b.json").write_text(json.dumps({"segments": [{"words": words}]}))
    faults = Faults()
    for one in read_word_times(tmp_path, faults):
        assert one.other == "in 2014. it" and [pair.target for pair in one.pairs] == [
            (0.1, 0.2), (0.9, 1.0),
        ]  # fmt: skip
    assert dict(faults.counts) == {"span outside": 2}


def test_intervals_that_cannot_be_read_are_counted_one_by_one(tmp_path):
    times = ("0.5", "0.75"), ("0,75", "0.9"), ("0.9", "1.2.3"), ("1e+0", "1.45"), ("2", "")
    intervals = "".join(
        f' intervals [{n}]:\n xmin = {start}\n xmax = {end}\n text = "word{n}"\n'
        for n, (start, end) in enumerate(times, 1)
    )
    file = tmp_path / "a.TextGrid"
    file.write_text(f'item []:\n item [1]:\n name = "words"\n{intervals}')
    words = words_of(file, faults := Faults())
    assert [word.word for word in words] == ["word1", "word4"]
    assert dict(faults.counts) == {"malformed line": 3}
    assert faults.kept[0].where == "a.TextGrid: interval 2"


def test_sounds_without_times_and_words_that_end_too_early_are_counted(tmp_path):
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "a.ctm").write_text("a 1 0.5 0.25 hello\na 1 0.9 -0.1 world\n")
    faults = Faults()
    (one,) = read_word_times(tmp_path, faults)
    assert one.other == "hello world" and len(one.pairs) == 1
    assert dict(faults.counts) == {"end before start": 1, "unaligned": 1}


def test_lines_that_are_not_json_are_counted(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "a b", "pairs": [[[0, 1], [2, 3]]]}\nno\n[]\n')
    faults = Faults()
    assert len(list(read_jsonl(tmp_path / "x.jsonl", faults))) == 1
    assert faults.counts["malformed line"] == 2


def test_presets_run_from_files(tmp_path, tiny_bert, tiny_t5):
    gold = "the cat sat ||| a dog ran ||| 0-0 1-1 2-2\n" * 8
    (tmp_path / "gold.txt").write_text(gold)
    quiet = {"progress": False, "most_heads": 2}
    found = hs.probe.alignment(tiny_t5, tmp_path / "gold.txt", **quiet)
    assert found.kind == "cross" and found.lower
    both = found.map("alignment error rate query→target")
    hits = found.map("precision query→target")
    np.testing.assert_allclose(both, 1 - hits, atol=1e-6)  # one sure link for every word
    same = hs.probe.alignment(tiny_bert, tmp_path / "gold.txt", **quiet)
    assert same.kind == "encoder" and same.cases == 24
    (tmp_path / "r.smi").write_text("[CH3:1][OH:2].[CH4:5]>>[CH3:1][O:2]C\n" * 8)
    atoms = hs.probe.atoms(tiny_bert, tmp_path / "r.smi", **quiet)
    assert atoms.cases == 8  # the oxygen has a single candidate
    row = {"sequence": "acdefghiklmnopqrst", "contacts": [[0, 9], [2, 11], [4, 15]]}
    (tmp_path / "p.jsonl").write_text((json.dumps(row) + "\n") * 8)
    by_letter = copy.deepcopy(tiny_bert.tokenizer)
    by_letter.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    protein = hs.load(tiny_bert.model, by_letter)
    for found in (hs.probe.contacts(protein, tmp_path / "p.jsonl", **quiet), atoms, same):
        assert found.draw(0).axes
        assert np.isfinite(found.top(n=1)["value"]).all()
    with pytest.raises(BadInput, match="48 unaligned"):  # the whole sequence is one unknown token
        hs.probe.contacts(tiny_bert, tmp_path / "p.jsonl", **quiet)


def test_a_mapped_reaction_is_read_from_any_column_of_a_table(tmp_path):
    row = "CO.C>>COC,[CH3:1][OH:2].[CH4:5]>>[CH3:1][O:2]C,0.9\n"
    (tmp_path / "r.csv").write_text("reaction,mapped,confidence\n" + row * 2 + "none,here,0\n")
    faults = Faults()
    first, second = read_reactions(tmp_path / "r.csv", faults)
    assert first.text == second.text == "CO.C>>COC"
    assert dict(faults.counts) == {"malformed line": 1}
    (tmp_path / "r.smi").write_text("not a reaction\n" + row.split(",")[1])
    list(read_reactions(tmp_path / "r.smi", faults := Faults()))
    assert dict(faults.counts) == {"malformed line": 1}  # only a table has a heading
