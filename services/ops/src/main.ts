#!/usr/bin/env node
// Operators' commands as a process.
import { run } from './run.ts';

// At once: a client that still tries to connect would keep the process.
process.exit(await run(process.argv.slice(2), process.env));
