# WEBHOOK_SECRET=whsec_… PORT=9000 python3 receiver.py
import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ.get("WEBHOOK_SECRET", "").removeprefix("whsec_"))
# With an empty key anybody could sign.
if len(KEY) < 24:
    raise SystemExit("WEBHOOK_SECRET: expected whsec_… as the registration returned it")
PORT = int(os.environ.get("PORT", 9000))


def is_genuine(event_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Over the bytes as they came: JSON that was parsed and written again has another signature."""
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{event_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
    # There are two while a secret is being rotated; one that fits is enough.
    return any(hmac.compare_digest(one.encode(), expected) for one in signatures.split(" "))


seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        header = lambda name: self.headers.get(name, "")
        event_id = header("webhook-id")
        genuine = is_genuine(event_id, header("webhook-timestamp"), header("webhook-signature"), body)
        # Answer first, work afterwards: the answer is waited for 10 s at most.
        self.send_response(204 if genuine else 400)
        self.end_headers()
        # The same event may come twice, with the same id. Keep the ids where a restart does not lose them.
        if genuine and event_id not in seen:
            seen.add(event_id)
            print(json.loads(body), flush=True)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
print(f"listening on http://127.0.0.1:{PORT}/", flush=True)
server.serve_forever()
