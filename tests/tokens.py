"""Small tokenizers of the usual kinds, built on the spot: byte-level BPE, and pieces with a mark for the space."""

from functools import lru_cache

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CORPUS = [
    "Card: Q. Moves: none. Actions: [check] [bet] [fold] [call] Reply with one action. You play a game.",
    "the tiger is behind the left door, the right door; rock paper scissors; the quick brown fox and the lazy dog",
] * 4


@lru_cache
def chatml(template: str = CHATML, merges: int = 120, bos: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE with <|im_start|>, <|im_end|> (also the pad) and, not special but no text either, <think>."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(special) + 256 + merges, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    tokenizer.add_tokens([AddedToken("\n\n\n", normalized=False)])
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            "<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|endoftext|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=template,
    )


@lru_cache
def pieces(
    template: str = CHATML.replace("<|im_end|>", "</s>").replace("<|im_start|>", "<s>"),
) -> PreTrainedTokenizerFast:
    """Unigram pieces whose vocabulary holds the control tokens as words, as sentencepiece models do."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789[].,:<>/|_ \n▁"
    words = ["▁the", "▁[", "check", "bet", "fold", "call", "user", "assistant", "system"]
    vocab = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *((w, -3.0) for w in words), *((c, -6.0) for c in letters)]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", chat_template=template
    )
