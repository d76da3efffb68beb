"""Coreference in brackets, in CoNLL-U and in GAP's table."""

from __future__ import annotations

import pytest

from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.errors import BadInput

CONLL = """#begin document (story); part 000
story 0 0 Mrs. NNP - (1
story 0 1 Dalloway NNP - 1)
story 0 2 bought VBD - -
story 0 3 the DT - (2
story 0 4 flowers NNS - -
story 0 5 of IN - -
story 0 6 her PRP$ - (1)
story 0 7 choice NN - 2)

story 0 0 She PRP - (1)
#end document
"""
ENTITY = "\n".join(
    [
        "# newdoc id = story",
        *(
            f"{n}\t{w}\t_\t{p}\t_\t_\t{h}\t{r}\t_\t{e}"
            for n, w, p, h, r, e in [
                (1, "the", "DET", 2, "det", "Entity=(1"),
                (2, "owner", "NOUN", 6, "nsubj", "_"),
                (3, "of", "ADP", 5, "case", "_"),
                (4, "the", "DET", 5, "det", "Entity=(2"),
                (5, "shop", "NOUN", 2, "nmod", "Entity=2)1)"),
                (6, "saw", "VERB", 0, "root", "_"),
                (7, "it", "PRON", 6, "obj", "SpaceAfter=No|Entity=(2)"),
            ]
        ),
        "",
    ]
)
GAP_HEAD = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_conll_2012_brackets_become_mentions(tmp_path):
    (document,) = CoreferenceCorpus(written(tmp_path, "x.conll", CONLL))
    found = [(" ".join(document.words[m.start : m.end]), m.cluster) for m in document.mentions]
    assert found == [
        ("Mrs. Dalloway", "1"),
        ("the flowers of her choice", "2"),
        ("her", "1"),
        ("She", "1"),
    ]
    assert [document.words[m.head] for m in document.mentions] == [
        "Dalloway",
        "flowers",
        "her",
        "She",
    ]
    assert [document.kind(m) for m in document.mentions] == [
        "proper",
        "nominal",
        "pronoun",
        "pronoun",
    ]


def test_the_head_of_a_mention_is_the_word_governed_from_outside(tmp_path):
    (document,) = CoreferenceCorpus(written(tmp_path, "x.conllu", ENTITY))
    assert [document.words[m.head] for m in document.mentions] == ["owner", "shop", "it"]
    assert document.mentions[1].cluster == document.mentions[2].cluster


def test_gap_gives_a_pronoun_and_two_names(tmp_path):
    text = "Ann met Beth before she left."
    line = f"1\t{text}\tshe\t20\tAnn\t0\tFALSE\tBeth\t8\tTRUE\turl\n"
    (document,) = CoreferenceCorpus(written(tmp_path, "gap.tsv", GAP_HEAD + line))
    she = next(m for m in document.mentions if document.words[m.head] == "she")
    same = [document.words[m.head] for m in document.mentions if m.cluster == she.cluster]
    assert same == ["Beth", "she"] and document.both_sides


def test_an_offset_that_misses_its_name_is_named_by_line(tmp_path):
    line = "1\tAnn left.\tshe\t20\tAnn\t0\tTRUE\tBeth\t8\tFALSE\turl\n"
    kept = CoreferenceCorpus(written(tmp_path, "gap.tsv", GAP_HEAD + line))
    assert not list(kept) and "gap.tsv:2: Pronoun 'she' does not stand" in kept.faults.summary()
    with pytest.raises(BadInput, match=r"gap.tsv:2"):
        list(CoreferenceCorpus(tmp_path / "gap.tsv", bad_data="refuse"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("Dalloway NNP - 1)", "Dalloway NNP - -"),
            "x.conll:2: mention 1 is opened and never closed",
        ),
        (("choice NN - 2)", "choice NN - 2)3)"), "x.conll:9: mention 3 is closed"),
        (("story 0 2 bought VBD - -", "story 0"), "x.conll:4: a line has 2 columns"),
    ],
)
def test_broken_brackets_and_lines_are_named(tmp_path, change, said):
    kept = CoreferenceCorpus(written(tmp_path, "x.conll", CONLL.replace(*change)))
    assert len(list(kept)) == 1 and said in kept.faults.summary()


def test_the_shared_corpora_read_whole(shared_data):
    sizes = {
        "ontogum/conllu.tar.xz": 263,
        "litbank/conll.tar.xz": 100,
        "gap/gap-validation.tsv": 454,
    }
    for name, size in sizes.items():
        assert sum(1 for _ in CoreferenceCorpus(shared_data / name)) == size
