"""Makes a sample run of a recorded one: what a reader needs, and no folder of the machine it was recorded on.

    python -m benchmarks.samples RUN NAME [--without-explanations]

Copies a run directory to sample_traces/faults/NAME. Folders before site-packages, Python's own library and this project are cut
from names, and so are the temporary and the home folder; the window with shapes and stacks is left out where it is not wanted. Fails where
a name of a folder is left. Afterwards: a row in sample_traces/README.md, and `python -m benchmarks.examples`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "sample_traces" / "faults"
#: where a path may begin: after nothing that could belong to a relative path or an address
BEGIN = r"(?<![\w.:/\\-])"
#: folders above installed packages, Python's own library and this project; the temporary and the home folder
INSTALLED = r"(?:site|dist)-packages/"
ABOVE = rf"(?:[\w.+-]+/)*?(?:lib/python3\.\d+/(?:{INSTALLED})?|{INSTALLED}|(?=(?:benchmarks|collect|analyze)/))"
CUT = re.compile(rf"{BEGIN}/(?:{ABOVE}|(?:tmp|root|home/[\w.-]+)/)")
LEFT = re.compile(rf"{BEGIN}/(?:home|root|tmp|work|opt|usr|var|mnt|Users)/[^\"\s]*")


def make(run: Path, name: str, *, explanations: bool) -> int:
    """Write the sample; return its size in bytes."""
    target = FAULTS / name
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        old.unlink()
    for path in sorted(run.iterdir()):
        if not explanations and ".explanations." in path.name:
            continue
        packed = path.suffix == ".gz"
        text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
        if path.name.startswith("manifest."):
            text = _manifest(json.loads(text), explanations=explanations)
        text = CUT.sub("", text)
        left = LEFT.search(text)
        if left is not None:
            raise SystemExit(f"{path} names {left.group()}")
        content = text.encode()
        # no time in the header: the same run gives the same file
        (target / path.name).write_bytes(gzip.compress(content, 9, mtime=0) if packed else content)
    return sum(file.stat().st_size for file in target.iterdir())


def _manifest(manifest: dict[str, Any], *, explanations: bool) -> str:
    if not explanations:
        manifest["windows"] = [window for window in manifest["windows"] if window["name"] != "explanations"]
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--without-explanations", action="store_true")
    given = parser.parse_args()
    size = make(given.run, given.name, explanations=not given.without_explanations)
    print(f"{FAULTS.relative_to(ROOT) / given.name}: {size / 1024:,.0f} KiB")


if __name__ == "__main__":
    main()
