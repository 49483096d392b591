"""Say which learning roles of a run never spoke, and fail if any: a smoke run in which nobody is asked shows nothing.

python .ci/asked.py FOLDER
"""

import json
import sys
from pathlib import Path

from arena import config
from arena.commands.learn import learners
from arena.make import make
from trainers.config import TrainConfig

folder = Path(sys.argv[1])
settings = config.load(TrainConfig, folder / "config.yaml")
learning = learners(settings, make(settings.game.name, **settings.game.params))
lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
mute = [name for name, role in learning.items() if role.train and not any(f"return/{name}" in line for line in lines)]
if mute:
    sys.exit(f"error: {folder}: nobody was asked as {', '.join(mute)} in {len(lines)} steps")
