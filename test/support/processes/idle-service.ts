// Node runs this in place of a service: it says that it serves, and stops at SIGTERM or SIGINT. As the
// gateway, which alone gets a secret for tokens, it answers /readyz, with 503 if NEVER_READY is set. STOP_LOG
// names a file where it notes that it stopped; the gateway takes GATEWAY_STOP_MS to stop.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

const {
  AUTH_JWT_SECRET,
  GATEWAY_HOST = '127.0.0.1',
  GATEWAY_PORT,
  GATEWAY_STOP_MS,
  NEVER_READY,
  STOP_LOG,
  WRONG_SETTING,
} = process.env;
const name = AUTH_JWT_SECRET === undefined ? 'service' : 'gateway';

if (WRONG_SETTING === name) {
  process.stderr.write(`${name} cannot start:\n  LOG_LEVEL: expected one of info, warn\n`);
  process.exit(1);
}
if (name === 'gateway') {
  const status = NEVER_READY === undefined ? 200 : 503;
  createServer((_, answer) => answer.writeHead(status).end('{}')).listen(Number(GATEWAY_PORT), GATEWAY_HOST);
} else setInterval(() => undefined, 60_000);
process.stdout.write(
  `${JSON.stringify({ level: 'info', msg: 'serving', metrics: `http://127.0.0.1:${process.pid}` })}\n`,
);
process.on('SIGTERM', () => {
  const stop = (): void => {
    if (STOP_LOG !== undefined) appendFileSync(STOP_LOG, `${name}\n`);
    process.exit(0);
  };
  if (name === 'gateway' && GATEWAY_STOP_MS !== undefined) setTimeout(stop, Number(GATEWAY_STOP_MS));
  else stop();
});
