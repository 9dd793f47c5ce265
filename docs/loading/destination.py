"""A destination of dlt (pip install dlt) for suppliers, products and batches: each table is one of them, by its name.

It stands on the wheel integration-sync. The settings are DESTINATION__INTEGRATION_SYNC__URL and
DESTINATION__INTEGRATION_SYNC__KEY. Run products after suppliers, and batches after products. What the service rejects is
appended to rejects/, with the reason, for `integration-sync load`.
"""

import json
import pathlib

import dlt
from integration_sync import Client
from integration_sync.rows import plain


@dlt.destination(name="integration_sync", batch_size=500, max_parallel_load_jobs=1, max_table_nesting=0)
def integration_sync(rows, table, url: str = dlt.config.value, key: str = dlt.secrets.value) -> None:
    # dlt passes data frames on as Arrow tables. An empty cell leaves a field as it is: None would clear it.
    listed = rows.to_pylist() if hasattr(rows, "to_pylist") else rows
    items = [{name: value for name, value in row.items() if value is not None} for row in listed]
    with Client(url, key=key) as client:
        failed = [one for one in client.push(table["name"], items).details if one["action"] == "failed"]
    for detail in failed:
        reason = "; ".join(problem["detail"] for problem in detail["problems"])
        rejects = pathlib.Path("rejects", f"{table['name']}.ndjson")
        rejects.parent.mkdir(exist_ok=True)
        with rejects.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**items[detail["index"]], "#reason": reason}, default=plain) + "\n")
