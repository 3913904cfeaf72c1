"""Spark and Ray, small; scripts/check-cluster is the large version."""

import logging
import os
import shutil
import sys

import pytest
import treewright

TEXTS = ["The boy saw a dog. It didn't bark.", None, "", "Stocks fell.", "I said _ to him."] * 40


@pytest.fixture(scope="module")
def spark():
    pyspark = pytest.importorskip("pyspark")
    if not shutil.which("java"):
        pytest.skip("there is no Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "20").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def expected(nlp):
    return [None if text is None else str(nlp(text)) for text in TEXTS]


def test_spark(spark, nlp):
    import treewright.spark
    from pyspark.sql.functions import spark_partition_id

    table = spark.createDataFrame(list(enumerate(TEXTS)), "id long, text string").repartition(6)
    parsed = treewright.spark.parse(table)
    assert parsed.columns == ["id", "text", "parse", "parse_error"]
    rows = sorted(parsed.withColumn("part", spark_partition_id()).collect())
    assert [row.parse for row in rows] == expected(nlp)
    assert {row.parse_error for row in rows} == {None} and len({row.part for row in rows}) == 6
    # A row that cannot be parsed says so; the job goes on.
    wrong = treewright.spark.parse(table, output="tree", format="ptb").filter("text = 'Stocks fell.'").collect()
    assert len(wrong) == 40 and all(row.tree is None and "TW007" in row.tree_error for row in wrong)
    treewright.spark.register(spark, "parse")
    table.createOrReplaceTempView("rows")
    rows = spark.sql("SELECT id, parse(text) AS tree FROM rows WHERE text IS NOT NULL").collect()
    assert [row.tree for row in sorted(rows)] == [tree for tree in expected(nlp) if tree is not None]


def test_spark_loads_a_model_once_in_a_process(spark):
    def loaded(batches):
        import os

        import pyarrow
        import treewright

        for batch in batches:
            model = treewright._default()
            pid = [os.getpid()] * batch.num_rows
            yield pyarrow.record_batch({"process": pid, "model": [id(model)] * batch.num_rows})

    table = spark.range(200).repartition(8)
    rows = table.mapInArrow(loaded, "process long, model long").distinct().collect()
    assert len(rows) == len({row.process for row in rows})


def test_ray(nlp):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    import treewright.ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        table = ray.data.from_items([{"id": i, "text": text} for i, text in enumerate(TEXTS)])
        rows = treewright.ray.parse(table, concurrency=2, batch_size=30).take_all()
    finally:
        ray.shutdown()
    rows.sort(key=lambda row: row["id"])
    assert [row["parse"] for row in rows] == expected(nlp)
    assert {row["parse_error"] for row in rows} == {None}
