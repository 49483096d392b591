"""A role tells a seat its job and reads the move out of a reply."""

import pytest

import roles
from roles import Example, Format, Memory, Reply, Role


def test_a_role_is_a_few_lines_of_yaml(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nsystem: Play.\nexamples: [{heard: a, reply: '[b]'}]\nmemory: turn\nreply: legal\n")
    role = roles.load(str(path), format="raw", **{"sampling": {"max_tokens": 3}})
    assert role == Role(
        "mine",
        "Play.",
        examples=[Example("a", "[b]")],
        memory=Memory.turn,
        reply=Reply.legal,
        format=Format.raw,
        sampling=roles.Sampling(max_tokens=3),
    )


def shown(role):
    """A move of this role: that of its first example, if it has some."""
    sums = {"sums_solver": "59", "sums_proposer": "7 + 12", "voter": "43"}
    return role.move(role.examples[0].reply) if role.examples else sums.get(role.name, "check")


@pytest.mark.parametrize("name", roles.names())
def test_every_role_of_the_library_understands_its_own_words(name):
    role = roles.load(name)
    move = shown(role)
    assert role.name == name
    assert role.move(role.words(move)) == move
    for example in role.examples:
        assert role.words(role.move(example.reply)) == example.reply
    assert len((roles.role.LIBRARY / f"{name}.yaml").read_text().splitlines()) <= 15


FREE = {"player", "debater", "negotiator", "taboo_attacker", "taboo_defender"}  # anything they say may be meant


@pytest.mark.parametrize("name", sorted(set(roles.names()) - FREE))
def test_a_strict_role_accepts_its_words_and_nothing_around_them(name):
    role = roles.load(name)
    words = role.words(shown(role))
    for loose in (f" {words}", f"{words}.", f"{words}{words}", f"so {words}", words[:-1] + "!", ""):
        assert role.move(loose) == ""


def test_unknown_names_and_keys_say_what_was_meant(tmp_path):
    with pytest.raises(ValueError, match="role 'khun' not found: did you mean 'kuhn'"):
        roles.load("khun")
    with pytest.raises(ValueError, match=r"role 'xyzzy' not found: the library has .*kuhn"):
        roles.load("xyzzy")
    path = tmp_path / "typo.yaml"
    path.write_text("name: typo\nsytem: Play.\n")
    with pytest.raises(ValueError, match=r"typo.yaml': unknown key 'sytem': did you mean 'system'"):
        roles.load(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\naction: '['\n", "not a regular expression"),
        ("name: x\naction: bet\n", "has no group in 'bet': put the move in parentheses"),
        ("name: x\nmemory: half\n", "half"),
        ("system: nameless\n", "name"),
        ("", "no keys and values"),
        ("- name\n", "no keys and values"),
        ("name: [x\n", "not YAML"),
        ("name: x\nsay: bet\n", "write {move}"),
        ("name: x\nsampling: {temperature: -1}\n", "temperature is -1.0"),
        ("name: x\nsampling: {max_tokens: 0}\n", "max_tokens is 0"),
        ("name: x\nsampling: {top_p: 0.5}\n", "unknown key 'sampling.top_p'"),
        ("name: x\nbudget: -1\n", "budget is -1"),
    ],
)
def test_a_bad_role_is_refused_with_its_file(tmp_path, text, message):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        roles.load(str(path))
    assert "bad.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_action_may_match_nothing_or_by_another_branch():
    assert Role(name="any", action=r"(?s)(.*)").move("say it all") == "say it all"
    assert Role(name="two", action=r"\[(a|b)\]|pass").move("[a] or pass") == "a"
    assert Role(name="two", action=r"\[(a|b)\]|pass").move("pass") == ""
