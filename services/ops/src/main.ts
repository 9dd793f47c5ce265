#!/usr/bin/env node
// Operators' commands as a process.
import { run } from './run.ts';

// A reader that closes the pipe, as `head` does, does not end a command that is still changing something.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

// `exit` ends the process even if the NATS or MongoDB client still tries to connect.
process.exit(await run(process.argv.slice(2), process.env));
