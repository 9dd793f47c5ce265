# WEBHOOK_SECRET=whsec_… PORT=9000 python3 receiver.py (with the wheel integration-sync)
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from integration_sync import WebhookRefused, key_of, verify_webhook

SECRET = os.environ.get("WEBHOOK_SECRET", "")
try:
    key_of(SECRET)
except ValueError as error:
    raise SystemExit(f"WEBHOOK_SECRET: {error}")
seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            event = verify_webhook(SECRET, self.headers, body)
        except WebhookRefused:
            return self.answer(400)
        # Answer first, work afterwards: the service waits for an answer for 10 s at most.
        self.answer(204)
        # The same event may come twice, with the same id. Keep the ids where a restart does not lose them.
        if self.headers["webhook-id"] not in seen:
            seen.add(self.headers["webhook-id"])
            print(event, flush=True)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
