"""What may be collected, what looks alike, and what waits for a person."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace
from PIL import Image
from tests.support.curated import candidate_at, item_of

from overread.case import BadInput, Source
from overread.curate import likeness
from overread.curate.collect import Options, collect
from overread.curate.licences import refused
from overread.curate.records import Record, items_of, lines_of, record, records_in
from overread.curate.sources import candidates_of_source
from overread.curate.wanted import People, Pictures, Wanted, read_wanted


@pytest.mark.parametrize(
    ("licence", "why"),
    [
        ("CC-BY-4.0", ""), ("CC BY-NC-SA 4.0", ""), ("cc0-1.0", ""), ("Apache-2.0", ""),
        ("BSD-3-Clause", ""), ("GPL-3.0-or-later", ""), ("MIT License", ""),
        ("https://creativecommons.org/licenses/by-sa/4.0/deed.de", ""),
        ("Creative Commons Attribution", "licence_unknown"),
        ("CC-BY-ND-4.0", "no_derivatives"), ("CC BY-NC-ND 3.0 DE", "no_derivatives"),
        ("https://creativecommons.org/licenses/by-nc-nd/4.0/", "no_derivatives"),
        ("Attribution-NoDerivatives", "no_derivatives"),
        ("BY-ND 4.0", "no_derivatives"), ("by-nc-nd", "no_derivatives"),
        ("CCBYNCND", "no_derivatives"), ("Creative Commons BY ND", "no_derivatives"),
        ("house rules", "licence_unknown"), ("  ", "licence_missing"),
    ],
)  # fmt: skip
def test_a_licence_is_known_by_its_name(licence: str, why: str) -> None:
    assert refused(licence) == why
    # What somebody looked up is taken at their word, but no declaration lifts a ban on changes.
    assert refused(licence, "terms.pdf") == (why if why == "no_derivatives" else "")


def _texture(seed: int, size: int = 96) -> np.ndarray:
    """Patches of all sizes, the larger the stronger, as in films."""
    rng = np.random.default_rng(seed)
    found = np.zeros((size, size))
    for side in (3, 6, 12, 24, 48):
        small = Image.fromarray(rng.normal(size=(side, side)).astype(np.float32))
        found += np.asarray(small.resize((size, size), Image.Resampling.BICUBIC)) / side
    return np.uint8(128 + 90 * found / np.abs(found).max())


def _jpeg(pixels: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def test_a_copy_in_another_size_or_compression_is_near_and_another_picture_is_not() -> None:
    bits = {"copy": [], "other": []}
    for seed in range(20):
        first = _texture(seed, 224)
        copy = _jpeg(np.asarray(Image.fromarray(first).resize((140, 140))), 60)
        for kind, second in (("copy", copy), ("other", _texture(seed + 100, 224))):
            hashes = [likeness.look_at(one).hash for one in (first, second)]
            (pair,) = likeness.near_pairs(hashes, likeness.BITS)
            bits[kind].append(pair.bits)
    assert max(bits["copy"]) <= Options().bits
    assert min(bits["other"]) > 60


def test_the_hash_is_that_of_its_definition() -> None:
    """By the cosine sum itself, and not by the library's transform."""
    image = _texture(3, likeness.SIDE)
    turn = np.arange(likeness.SIDE)
    waves = np.cos(np.pi * (turn[None] + 0.5) * turn[:, None] / likeness.SIDE)
    waves[0] *= 0.5**0.5
    low = (waves @ image @ waves.T)[:16, :17]
    flat = low[:, :16].ravel().copy()
    flat[0] = low[0, 16]
    want = np.packbits(flat > np.median(flat), bitorder="little").tobytes()
    assert likeness.look_at(image).hash == want


def test_a_picture_of_hardly_anything_is_set_apart() -> None:
    rng = np.random.default_rng(0)
    dark = rng.integers(0, 3, (80, 80), dtype=np.uint8)
    assert likeness.look_at(dark).blank
    assert not likeness.look_at(_texture(1)).blank


def test_pairs_are_found_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    hashes = [rng.bytes(32) for _ in range(50)]
    hashes[40] = hashes[3]
    monkeypatch.setattr(likeness, "_AT_ONCE", 7)
    assert list(likeness.near_pairs(hashes, 12)) == [likeness.Pair(3, 40, 0)]


def test_selection_is_spread_balanced_and_keeps_away_from_what_lies_far_out() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(200, 2)).astype(np.float32)
    points[7] = (40, 40)
    classes = ["a" if n < 150 else "b" for n in range(200)]
    assert likeness.outermost(points, 0.01)[0] == 7
    as_published = likeness.dispersed(points, classes, 20)
    assert as_published[0] == 7
    assert sum(classes[n] == "b" for n in as_published) == 10
    least = _least_apart(points[as_published])
    drawn = [_least_apart(points[rng.permutation(200)[:20]]) for _ in range(20)]
    assert least > max(drawn)
    # Nobody's second picture before everybody's first.
    owners = [f"p{n % 12}" for n in range(200)]
    of_owners = likeness.dispersed(points, ["a"] * 200, 14, owners=owners, central=True)
    assert len({owners[n] for n in of_owners[:12]}) == 12


def _least_apart(points: np.ndarray) -> float:
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(apart[np.triu_indices(len(points), 1)].min())


# ---------------------------------------------------------------- a source to its records


def _set(at: Path, rows: list[str], source: str = "") -> Wanted:
    pictures = at / "pictures"
    pictures.mkdir(parents=True)
    for number in range(12):
        Image.fromarray(_texture(number)).save(pictures / f"{number}.png")
    Image.fromarray(_texture(0)).save(pictures / "copy.jpg", quality=80)
    Image.new("L", (64, 64), 5).save(pictures / "dark.png")
    (pictures / "broken.png").write_bytes(b"no picture")
    header = "image,caption,label,patient,licence"
    (pictures / "table.csv").write_text("\n".join([header, *rows]) + "\n")
    (at / "curate.toml").write_text(f'name = "s"\n[[sources]]\npath = "pictures"\n{source}')
    return read_wanted(at)


def _records(wanted: Wanted, at: Path) -> list[Record]:
    found = (
        one
        for source in wanted.sources
        for one in candidates_of_source(source, wanted, lambda *given: at)
    )
    return collect(found, wanted, at, at / "features")


def _name(one: Record) -> str:
    assert one.candidate is not None
    assert isinstance(one.candidate.picture.source, Source)
    return one.candidate.picture.source.name


def _usable(wanted: Wanted, at: Path) -> dict[str, Record]:
    """Records by picture, of those whose picture could be looked at."""
    found = _records(wanted, at)
    return {_name(one): one for one in found if one.candidate and one.candidate.source}


ROWS = [
    *(f"{n}.png,shade {n},{'ab'[n % 2]},p{n // 2},CC-BY-4.0" for n in range(12)),
    "copy.jpg,a copy,a,p0,CC-BY-4.0", "dark.png,dark,b,p9,CC0-1.0",
    "broken.png,broken,a,p9,MIT", "gone.png,gone,a,p9,MIT", "../up.png,up,a,p9,MIT",
    "1.png,one,a,p1,CC-BY-ND-4.0", "2.png,two,a,p1,of the house", "3.png,,,p1,MIT",
]  # fmt: skip


def test_what_may_not_be_used_is_dropped_with_its_reason_and_doubts_only_flagged(
    tmp_path: Path,
) -> None:
    wanted = _set(tmp_path, ROWS)
    records = _records(wanted, tmp_path)
    assert {(_name(one), one.reason) for one in records if one.verdict == "dropped"} == {
        ("broken.png", "unreadable"), ("gone.png", "unreadable"), ("", "no_picture"),
        ("1.png", "no_derivatives"), ("2.png", "licence_unknown"), ("3.png", "nothing_known"),
    }  # fmt: skip
    flagged = {_name(one): one for one in records if one.verdict == "flagged"}
    assert flagged["copy.jpg"].reason == "near_duplicate"
    assert flagged["copy.jpg"].facts["other"] == records[0].id
    assert flagged["dark.png"].reason == "blank"


def test_a_doubtful_picture_is_not_selected_before_a_person_has_seen_it(tmp_path: Path) -> None:
    wanted = _set(tmp_path, ROWS, "take = 6\n")
    before = _usable(wanted, tmp_path)
    assert sum(one.passes for one in before.values()) == 6
    for name in ("copy.jpg", "dark.png"):
        assert before[name].reason == "waits_for_a_person"
    said = {
        before["copy.jpg"].id: People({"same": "yes"}, ("person:anna",)),
        before["dark.png"].id: People({"usable": "yes"}, ("person:anna",)),
    }
    after = _usable(replace(wanted, people=said), tmp_path)
    assert (after["copy.jpg"].reason, after["copy.jpg"].by) == ("duplicate", ("person:anna",))
    assert after["dark.png"].reason in ("", "not_selected")


def test_a_picture_is_opened_once_however_often_the_step_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = _set(tmp_path, ROWS)
    first = _usable(wanted, tmp_path)

    def refuse(*given: object) -> None:
        raise AssertionError("opened again")

    monkeypatch.setattr("overread.curate.likeness.look_at", refuse)
    assert _usable(wanted, tmp_path) == first


def test_a_folder_of_pictures_gives_labels_by_folder_and_captions_by_text(tmp_path: Path) -> None:
    (tmp_path / "set" / "cyst").mkdir(parents=True)
    Image.new("L", (9, 9)).save(tmp_path / "set" / "cyst" / "a.png")
    (tmp_path / "set" / "cyst" / "a.txt").write_text("a dark round thing\n")
    (tmp_path / "curate.toml").write_text('name = "s"\n[[sources]]\npath = "set"\nlicence="MIT"')
    wanted = read_wanted(tmp_path)
    (one,) = candidates_of_source(wanted.sources[0], wanted, lambda *given: tmp_path)
    assert (one.labels, one.caption, one.licence) == (("cyst",), "a dark round thing", "MIT")  # type: ignore[union-attr]


def test_pictures_may_stand_in_a_parquet_file(tmp_path: Path) -> None:
    images = []
    for number in range(3):
        file = io.BytesIO()
        Image.fromarray(_texture(number)).save(file, "PNG")
        images.append({"bytes": file.getvalue(), "path": f"{number}.png"})
    table = pl.DataFrame({"image": images, "caption": ["a", "b", "c"], "view": ["PA", "AP", "PA"]})
    table.write_parquet(tmp_path / "films.parquet")
    (tmp_path / "curate.toml").write_text(
        'name = "s"\n[[sources]]\npath = "films.parquet"\nlicence = "MIT"\nwhere = { view = "PA" }\n'
    )
    found = _usable(read_wanted(tmp_path), tmp_path)
    assert {name: one.candidate.caption for name, one in found.items() if one.candidate} == {
        "0": "a", "2": "c",
    }  # fmt: skip
    assert all(one.candidate and one.candidate.facts == {"view": "PA"} for one in found.values())


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('columns = { image = "nowhere" }\n', 'has no column "nowhere"'),
        ('columns = { picture = "image" }\n', 'columns has "picture"'),
        ('benchmark = "heartbeat"\n', "offers no pictures"),
    ],
)
def test_a_source_that_cannot_be_read_is_told_why(tmp_path: Path, source: str, said: str) -> None:
    wanted = _set(tmp_path, ROWS, source)
    with pytest.raises(BadInput, match=said):
        _usable(wanted, tmp_path)


def test_an_id_is_of_the_content_alone(tmp_path: Path) -> None:
    one = candidate_at(tmp_path, 1)
    item = item_of(one)
    assert item.marked("blind_solvable", difficulty=0.4).id == item.id
    kept = record(item, parents=[one])
    assert records_in(lines_of([kept]), "x") == [kept]
    assert items_of([kept, kept]) == [item]


def _of(place: Path, **settings: object) -> list[object]:
    wanted = Wanted(name="x", home=place)
    pictures = Pictures(path=".", name="x")
    return list(candidates_of_source(replace(pictures, **settings), wanted, lambda *_: place))


def test_what_a_table_names_stays_below_it_and_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        'image,label,mask,box_x,box_y,box_w,box_h\n0.png,"flu\nB. cold",,,,,\n'
        "0.png,flu,../../m.png,,,,\n"
    )
    sound, lost = _of(tmp_path, path="t.csv")
    assert sound.labels == ("flu B. cold",)
    assert lost.reason == "no_picture"
    assert "m.png" in lost.line
    with pytest.raises(BadInput, match='has no column "splt"'):
        _of(tmp_path, path="t.csv", where={"splt": "test"})
    (tmp_path / "t.csv").write_text("image,label,box_x,box_y,box_w,box_h\n0.png,a,1e30,2,3,4\n")
    with pytest.raises(BadInput, match="row 2: box_x"):
        _of(tmp_path, path="t.csv")


def test_a_caption_is_no_link_that_leaves_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of another ward")
    place = tmp_path / "films"
    place.mkdir()
    candidate_at(place, 0)
    (place / "0.txt").symlink_to(tmp_path / "secret")
    assert [one.caption for one in _of(place)] == [""]


@pytest.mark.parametrize("setting", ["outermost = nan", "outermost = inf", "bits = -1"])
def test_a_share_or_a_number_of_bits_that_cannot_be_is_named(tmp_path: Path, setting: str) -> None:
    (tmp_path / "curate.toml").write_text(f'name = "x"\n[collect]\n{setting}\n')
    with pytest.raises(BadInput, match="outermost a share"):
        collect([], read_wanted(tmp_path), tmp_path, tmp_path)
    (tmp_path / "curate.toml").write_text('name = "x"\nsources = [{path = "a", take = 0}]\n')
    with pytest.raises(BadInput, match="take of a is 0"):
        read_wanted(tmp_path)
