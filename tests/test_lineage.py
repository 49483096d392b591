"""The lineage of tasks can be read and looked at, whatever their authors wrote into them."""

import xml.etree.ElementTree as ElementTree

from arena import lineage
from arena.curriculum import Curriculum, CurriculumConfig
from arena.types import Offer, Task

SVG = "{http://www.w3.org/2000/svg}"


def family():
    """root -> child -> grandchild, root -> grandchild, and a stranger."""
    curriculum = Curriculum(CurriculumConfig(cluster_share=1.0))
    root = Task.new("twelve plus one")
    child = Task.new("the third of ninety", parents=(root.id,))
    grandchild = Task.new("how many primes below 50", parents=(root.id, child.id))
    for task in (root, child, grandchild, Task.new("a stranger")):
        assert curriculum.consider(Offer(task, "proposer_0"), 0) == ""
    return curriculum, (root.id, child.id, grandchild.id)


def test_a_generation_is_the_longest_way_up():
    curriculum, (root, child, grandchild) = family()
    found = lineage.generations(curriculum)
    assert (found[root], found[child], found[grandchild]) == (0, 1, 2)
    assert sorted(found.values()) == [0, 0, 1, 2]


def test_every_task_is_one_line_under_its_first_parent():
    curriculum, (root, child, grandchild) = family()
    found = list(lineage.lines(curriculum))
    assert [line.split("  p")[0] for line in found[:3]] == [root, f"  {child}", f"  {grandchild}"]
    assert len(found) == 4
    assert "p ?  admitted  twelve plus one" in found[0]


def test_the_picture_has_a_node_a_task_and_an_edge_a_parent():
    curriculum, _ = family()
    picture = ElementTree.fromstring(lineage.svg(curriculum))
    assert len(picture.findall(f"{SVG}g/{SVG}circle")) == 4
    assert len(picture.findall(f"{SVG}path")) == 3


def test_nodes_of_one_generation_do_not_cover_each_other():
    curriculum, _ = family()
    picture = ElementTree.fromstring(lineage.svg(curriculum))
    places = [(node.get("cx"), node.get("cy")) for node in picture.iter(f"{SVG}circle")]
    assert len(set(places)) == 4


def test_a_prompt_can_be_nothing_but_text():
    curriculum = Curriculum()
    hostile = Task.new("</title><script>alert(1)</script>\x1b[2J\x00\u202e&amp;")
    curriculum.consider(Offer(hostile, "proposer_0"), 0)
    drawn = lineage.svg(curriculum)
    assert "<script" not in drawn
    assert not {"\x1b", "\x00", "\u202e"} & set(drawn)
    (title,) = ElementTree.fromstring(drawn).iter(f"{SVG}title")
    assert "</title><script>alert(1)</script>" in (title.text or "")
    assert "\x1b" not in "".join(lineage.lines(curriculum))


def test_colours_go_from_red_to_green_and_grey_is_unknown():
    assert lineage.colour(None) == "#999999"
    assert lineage.colour(0.0).startswith("hsl(0 ")
    assert lineage.colour(1.0).startswith("hsl(120 ")


def test_an_empty_curriculum_is_an_empty_picture():
    picture = ElementTree.fromstring(lineage.svg(Curriculum()))
    assert not list(picture.iter(f"{SVG}circle"))
    assert list(lineage.lines(Curriculum())) == []
