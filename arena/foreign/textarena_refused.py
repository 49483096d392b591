"""Games of TextArena that aren't played here, and why."""

from collections.abc import Mapping

WORDS = "it downloads word lists through nltk when it is imported"
JUDGE = "a model behind OpenRouter's network judges or answers in it"

REFUSED: Mapping[str, str] = {  # folder of its rules in TextArena 0.7 -> the reason
    "Codenames": WORDS,
    "DontSayIt": WORDS,
    "Hangman": WORDS,
    "LetterAuction": WORDS,
    "SpellingBee": WORDS,
    "WordChains": WORDS,
    "WordLadder": WORDS,
    "WordSearch": WORDS,
    "Wordle": WORDS,
    "Debate": JUDGE,
    "GuessWho": JUDGE,
    "ScenarioPlanning": JUDGE,
    "TwentyQuestions": JUDGE,
    "CharacterConclave": "it fails on every message",
    "KuhnPoker": "its bets and calls never move a chip: play kuhn_poker or openspiel:kuhn_poker",
    "ScorableGames": "the package lacks the files that it reads",
    "UsedCarNegotiation": "the package lacks the files that it reads",
}
