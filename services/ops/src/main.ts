#!/usr/bin/env node
// Operators' commands as a process.
import { run } from './run.ts';

// `exit` ends the process even if the NATS or MongoDB client still tries to connect.
process.exit(await run(process.argv.slice(2), process.env));
