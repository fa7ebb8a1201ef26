"""The examples: a page for each program, with its picture, and a page of cards that leads to them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from links import ROOT

EXAMPLES = ROOT / "examples"
PICTURES = ROOT / "docs" / "pictures"
TITLES = {  # program → title, in the order of the page
    "digits_by_hand": "Digits by hand",
    "keras3_with_k": "Keras 3 with K",
    "siamese": "A Siamese net",
    "variational_autoencoder": "A variational autoencoder",
    "wgan_gp": "A Wasserstein GAN",
    "word2vec": "Words as vectors",
    "actor_critic": "Actor and critic",
    "attribution": "The pixels that count",
    "gradients_by_type": "Gradients by type",
    "edit_saved_model": "Edit a SavedModel",
    "fpga": "An accelerator as an engine",
    "pool": "A pool of memory",
    "classic": "Shared parts",
}


def pages() -> dict[str, str]:
    """File → text, for the folder of made pages."""
    found = {f"examples/{name}.md": page(name) for name in TITLES}
    return found | {"examples.md": index()}


def page(name: str) -> str:
    """The page of a program: its docstring, its picture and its text."""
    source = (EXAMPLES / f"{name}.py").read_text()
    parts = [
        f"# {TITLES[name]}",
        docstring(name),
        picture_of(name, "../.."),
        f"{{download}}`examples/{name}.py <../../../examples/{name}.py>`",
        f"```python\n{source}```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def docstring(name: str) -> str:
    """The docstring of a program as Markdown: its command is a block."""
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text())) or ""
    return re.sub(r"(?m)^ {4}((?:[A-Z_]+=\w+ )?python .*)$", r"```sh\n\1\n```", text)


def picture_of(name: str, up: str) -> str:
    found = PICTURES / f"{name}.png"
    return f"![The picture that the program draws]({up}/pictures/{name}.png)" if found.is_file() else ""


def index() -> str:
    """The page of cards."""
    cards = [card(name) for name in TITLES]
    seeds = [f"- {{download}}`{path.name} <../../examples/seeds/{path.name}>`" for path in sorted(seed_files())]
    parts = [
        "# Examples",
        "Whole programs, which the tests run. Each takes `--engine`, or the engine of `DOVETAIL_ENGINE`.",
        "\n\n".join(["::::{grid} 1 2 2 3\n:gutter: 3", *cards, "::::"]),
        "## Small programs",
        "Programs of other authors, as they wrote them, except for the lines that a comment names.",
        "\n".join(seeds),
        "```{toctree}\n:hidden:\n\n" + "\n".join(f"examples/{name}" for name in TITLES) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def seed_files() -> list[Path]:
    return [*(EXAMPLES / "seeds").glob("*.py")]


def card(name: str) -> str:
    """A card with the picture and the first sentence of a program."""
    text = docstring(name).partition("\n\n")[0].replace("\n", " ")
    found = PICTURES / f"{name}.png"
    image = f":img-top: ../pictures/{name}.png\n" if found.is_file() else ""
    return f":::{{grid-item-card}} {TITLES[name]}\n:link: examples/{name}\n:link-type: doc\n{image}\n{text}\n:::"
