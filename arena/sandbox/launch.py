"""Started inside the jail, by its path: makes this folder importable as `arena.sandbox`, alone."""

import sys
from pathlib import Path
from types import ModuleType

for name, places in (("arena", []), ("arena.sandbox", [str(Path(__file__).parent)])):
    module = ModuleType(name)
    module.__path__ = places
    sys.modules[name] = module

from arena.sandbox import zygote  # noqa: E402

zygote.main()
