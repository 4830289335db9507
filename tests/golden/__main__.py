"""Write the golden logs and the snapshots anew."""

from tests.golden.logs import HERE, STORED, load
from tests.golden.snapshots import SNAPSHOTS


def main() -> None:
    for name, make in STORED.items():
        text = "".join(event.to_json() + "\n" for event in make())
        (HERE / f"{name}.jsonl").write_text(text, encoding="utf-8")
    for name in STORED:
        for ending, render in SNAPSHOTS.items():
            (HERE / f"{name}.{ending}").write_bytes(render(load(name)).encode())


main()
