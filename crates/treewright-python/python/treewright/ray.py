"""Parsing inside Ray: actors that each hold the model.

    import treewright.ray
    parsed = treewright.ray.parse(ds, "text", "parse", concurrency=2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.data import Dataset


class _Parser:
    """An actor: the model is loaded when it starts."""

    def __init__(self, column: str, output: str, model: str | None, kind: str | None, format: str | None) -> None:
        import treewright

        self.nlp = treewright.load(model, kind=kind)
        self.columns = (column, output, format)

    def __call__(self, table: Any) -> Any:
        import pyarrow

        column, output, format = self.columns
        batches = table.combine_chunks().to_batches()
        if not batches:
            batches = [pyarrow.RecordBatch.from_pylist([], schema=table.schema)]
        return pyarrow.Table.from_batches(
            [self.nlp.parse_arrow(batch, column, output, format, 1) for batch in batches]
        )


def parse(
    ds: Dataset,
    column: str = "text",
    output: str = "parse",
    *,
    model: str | None = None,
    kind: str | None = None,
    format: str | None = None,
    concurrency: int = 1,
    batch_size: int = 1024,
    **options: Any,
) -> Dataset:
    """The dataset with two more columns: the parse of each text, and why there is none (`output` + "_error").

    `concurrency` actors parse, each on one core; other options go to `Dataset.map_batches`. Ray repeats batches whose
    actor died.
    """
    return ds.map_batches(
        _Parser,
        fn_constructor_args=(column, output, model, kind, format),
        batch_format="pyarrow",
        batch_size=batch_size,
        concurrency=concurrency,
        **options,
    )
