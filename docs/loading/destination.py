"""A destination of dlt (pip install dlt) for suppliers, products and batches: each table is one of them, by its name.

The settings are DESTINATION__INTEGRATION_SYNC__URL and DESTINATION__INTEGRATION_SYNC__KEY. Run products after suppliers, and batches
after products. What the service rejects is appended to rejects/, with the reason, for `integration-sync load`.
"""

import json
import pathlib
import time
import urllib.error
import urllib.request

import dlt

PATIENCE_SECONDS = 300


def push(url: str, key: str, kind: str, items: list) -> list:
    """What became of each item. It is repeated while the service asks for patience: the same push again has the same end."""
    body = json.dumps({kind: items}, default=lambda value: value.isoformat() if hasattr(value, "isoformat") else float(value))
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json", "prefer": "handling=strict"}
    request = urllib.request.Request(f"{url}/api/v1/integration/{kind}?details=true", body.encode(), headers)
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                return json.load(response)["details"]
        except urllib.error.URLError as error:
            status = getattr(error, "code", 503)
            if status not in (429, 503, 504) or time.monotonic() > give_up_at:
                raise
            time.sleep(float(getattr(error, "headers", {}).get("retry-after", 1)))


@dlt.destination(name="integration_sync", batch_size=500, max_parallel_load_jobs=1, max_table_nesting=0)
def integration_sync(rows, table, url: str = dlt.config.value, key: str = dlt.secrets.value) -> None:
    kind = table["name"]
    # An empty cell leaves a field as it is: None would clear it.
    items = [{name: value for name, value in row.items() if value is not None} for row in rows]
    for item, detail in zip(items, push(url, key, kind, items)):
        if detail["action"] == "failed":
            reason = "; ".join(problem["detail"] for problem in detail["problems"])
            rejects = pathlib.Path("rejects", f"{kind}.ndjson")
            rejects.parent.mkdir(exist_ok=True)
            with rejects.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**item, "#reason": reason}, default=str) + "\n")
