"""Parsing inside Spark: the texts stay where they are, each Python worker loads the model once.

    import treewright.spark
    parsed = treewright.spark.parse(df, "text", "parse")
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def parse(
    df: DataFrame,
    column: str = "text",
    output: str = "parse",
    *,
    model: str | None = None,
    kind: str | None = None,
    format: str | None = None,
) -> DataFrame:
    """The data frame with two more columns: the parse of each text, and why there is none (`output` + "_error").

    `model` is a path or name that every worker can open; the English model in the package by default. Each task uses one
    core; Spark runs as many tasks as there are cores. A text that cannot be parsed fills the error column and fails
    nothing; a partition whose worker dies is parsed again by Spark.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [StructField(output, StringType()), StructField(f"{output}_error", StringType())]
    schema = StructType(list(df.schema.fields) + fields)

    def parse_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import treewright

        nlp = treewright._default(model, kind)
        for batch in batches:
            yield nlp.parse_arrow(batch, column, output, format, 1)

    return df.mapInArrow(parse_batches, schema)


def register(
    spark: SparkSession, name: str = "parse", *, model: str | None = None, kind: str | None = None, format: str | None = None
) -> None:
    """Makes a SQL function of one text: `SELECT parse(text) FROM ..`. A text that cannot be parsed gives NULL."""
    import pandas
    from pyspark.sql.functions import pandas_udf

    def parse_texts(texts: pandas.Series) -> pandas.Series:
        import pyarrow

        import treewright

        batch = pyarrow.RecordBatch.from_arrays([pyarrow.array(texts, pyarrow.string())], ["text"])
        parsed = treewright._default(model, kind).parse_arrow(batch, "text", "parse", format, 1)
        return parsed.column("parse").to_pandas()

    parse_texts.__annotations__ = {"texts": pandas.Series, "return": pandas.Series}
    spark.udf.register(name, pandas_udf(parse_texts, "string"))
