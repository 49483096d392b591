"""Words that the language games hide, and what is true of them, so that no answer is a matter of taste."""

from __future__ import annotations

WORDS = (
    *("horse", "tiger", "eagle", "penguin", "shark", "spider", "snake", "zebra", "elephant", "monkey"),
    *("apple", "banana", "carrot", "onion", "lemon", "bread", "cheese", "butter", "coffee", "honey"),
    *("hammer", "knife", "candle", "mirror", "pillow", "blanket", "guitar", "piano", "bottle", "umbrella"),
    *("bicycle", "train", "airplane", "rocket", "canoe", "river", "mountain", "island", "cloud", "forest"),
)

# A property -> the words that have it; all the others don't. No two words have the same properties.
PROPERTIES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "animal": "horse tiger eagle penguin shark spider snake zebra elephant monkey",
        "legs": "horse tiger eagle penguin spider zebra elephant monkey",
        "fur": "horse tiger zebra monkey",
        "stripes": "tiger zebra",
        "dangerous": "tiger shark snake knife rocket",
        "big": "horse shark zebra elephant piano train airplane rocket canoe river mountain island cloud forest",
        "fast": "horse tiger eagle shark zebra train airplane rocket",
        "flying": "eagle airplane rocket",
        "water": "penguin shark canoe river island",
        "plant": "apple banana carrot onion lemon coffee forest",
        "food": "apple banana carrot onion lemon bread cheese butter honey",
        "sweet": "apple banana honey",
        "yellow": "banana lemon cheese butter honey",
        "round": "apple onion lemon",
        "soft": "bread butter pillow blanket cloud",
        "liquid": "coffee honey river",
        "warm": "coffee candle blanket",
        "metal": "hammer knife bicycle train airplane rocket",
        "wood": "guitar piano canoe forest",
        "glass": "mirror bottle",
        "handle": "hammer knife umbrella",
        "music": "guitar piano",
        "wheels": "bicycle train airplane",
        "rain": "umbrella cloud river",
        "drink": "coffee bottle",
    }.items()
}

# Words that are close, but not the same.
PAIRS: tuple[tuple[str, str], ...] = (
    ("apple", "banana"),
    ("bread", "cheese"),
    ("bicycle", "train"),
    ("coffee", "honey"),
    ("guitar", "piano"),
    ("hammer", "knife"),
    ("pillow", "blanket"),
    ("river", "island"),
    ("tiger", "zebra"),
    ("airplane", "rocket"),
)


def has(word: str, name: str) -> bool:
    """Whether the property is true of the word."""
    return word in PROPERTIES[name]
