# SPDX-License-Identifier: Apache-2.0
"""The notebook runs from its first cell to its last."""

import json
import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
NOTEBOOK = os.path.join(HERE, "..", "examples", "digits.ipynb")
DIGITS = os.path.join(HERE, "..", "..", "examples", "data", "digits.csv.gz")


def test_cells(monkeypatch, capsys):
    """In this process, without Jupyter."""
    monkeypatch.setenv("DIGITS", DIGITS)
    monkeypatch.setenv("DEVICE", "cpu")
    with open(NOTEBOOK, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), NOTEBOOK, "exec"), names)
    assert names["accuracy"] >= 0.92
    said = capsys.readouterr().out
    assert "megatron" in said and "epoch 16" in said


def test_nbclient(monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("DIGITS", DIGITS)
    monkeypatch.setenv("DEVICE", "cpu")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=100).execute()
    assert all(cell.get("outputs") is not None for cell in notebook.cells
               if cell.cell_type == "code")
