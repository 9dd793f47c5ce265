// Asks the gateway whether all services are ready, for a minute at most, and prints its answer.
const until = Date.now() + 60_000;
for (;;) {
  const answer = await fetch(`${process.env.GATEWAY_URL}/readyz`, {
    signal: AbortSignal.timeout(10_000),
  }).then(
    async (response) => ({ isReady: response.status === 200, words: await response.text() }),
    (error) => ({ isReady: false, words: String(error.cause ?? error) }),
  );
  process.stdout.write(`${answer.words}\n`);
  if (answer.isReady) break;
  if (Date.now() > until) process.exit(1);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}
