"""Relations by characters: JSONL and FrameNet's own folder."""

from __future__ import annotations

import json

import pytest

from headscope.corpus.relations.corpus import Relations
from headscope.errors import BadInput

LINE = {"text": "He was agitated .", "target": [7, 15], "elements": [[0, 2, "Experiencer"]]}


def jsonl(tmp_path, *rows):
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return path


def test_a_line_gives_a_target_and_its_elements(tmp_path):
    (relation,) = Relations(jsonl(tmp_path, LINE))
    assert relation.text[slice(*relation.target)] == "agitated"
    assert (relation.elements, relation.labels) == (((0, 2),), ("Experiencer",))


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (LINE | {"target": [7, 99]}, "span outside"),
        (LINE | {"elements": [[5, 5]]}, "span outside"),
        (LINE | {"elements": [["a", 5]]}, "span outside"),
        (LINE | {"elements": []}, "malformed line"),
        ({"target": [0, 1]}, "malformed line"),
        ("{not json", "malformed line"),
    ],
)
def test_faults_are_named_by_line_and_skipped_or_refused(tmp_path, row, kind):
    path = jsonl(tmp_path, LINE, row)
    kept = Relations(path)
    assert len(list(kept)) == 1
    assert kept.faults.counts == {kind: 1} and "r.jsonl:2" in kept.faults.summary()
    with pytest.raises(BadInput, match=r"r.jsonl:2"):
        list(Relations(path, bad_data="refuse"))


def test_the_filtered_exemplars_read_whole(shared_data):
    kept = Relations(shared_data / "framenet" / "framenet15_filtered.jsonl", bad_data="refuse")
    assert len(list(kept)) == 439


def sentence(number, text, target, *elements):
    labels = "".join(
        f'<label start="{text.index(e)}" end="{text.index(e) + len(e) - 1}" name="{name}"/>'
        for e, name in elements
    )
    at = text.index(target)
    return (
        f'<sentence ID="{number}"><text>{text}</text><annotationSet><layer rank="1" name="Target">'
        f'<label start="{at}" end="{at + len(target) - 1}" name="Target"/></layer>'
        f'<layer rank="1" name="FE">{labels}</layer></annotationSet></sentence>'
    )


def test_a_framenet_folder_is_filtered_as_published(tmp_path):
    space = 'xmlns="http://framenet.icsi.berkeley.edu"'
    (tmp_path / "lu").mkdir()
    (tmp_path / "frame").mkdir()
    (tmp_path / "frame" / "Emotion.xml").write_text(
        f'<frame {space} name="Emotion"><FEcoreSet><memberFE name="Experiencer"/>'
        "</FEcoreSet></frame>"
    )
    (tmp_path / "lu" / "lu1.xml").write_text(
        f'<lexUnit {space} name="agitated.a" frame="Emotion"><subCorpus>'
        + sentence(1, "He was now becoming agitated .", "agitated", ("He", "Experiencer"))
        + sentence(2, "He was agitated .", "agitated", ("He", "Experiencer"))  # too near
        + sentence(
            3, "Then he was now becoming agitated .", "agitated", ("Then", "Time")
        )  # not core
        + sentence(4, "He " + "very " * 12 + "was agitated .", "agitated", ("He", "Experiencer"))
        + "</subCorpus></lexUnit>"
    )
    found = list(Relations(tmp_path))
    assert [r.text for r in found] == ["He was now becoming agitated ."]
    assert found[0].text[slice(*found[0].target)] == "agitated" and found[0].name == "Emotion"
