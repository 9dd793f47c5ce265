# A receiver of webhooks as Flask's users write one: get_data has the body as it came. WEBHOOK_SECRET and PORT are its settings.
import base64
import hashlib
import hmac
import os
import time

from flask import Flask, request

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
app = Flask(__name__)


@app.post("/")
def receive():
    sent = request.headers.get
    timestamp = sent("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return "", 400
    signed = f"{sent('webhook-id', '')}.{timestamp}.".encode() + request.get_data()
    expected = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    given = sent("webhook-signature", "").split(" ")
    return "", 204 if any(hmac.compare_digest(one, expected) for one in given) else 401


app.run(port=int(os.environ["PORT"]))
