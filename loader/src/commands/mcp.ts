// integration-sync mcp: lets an agent read and plan, by the Model Context Protocol.
import { parseArgs } from 'node:util';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { exitCodes } from '../core/exit.ts';
import { connectionOptions, explained } from '../options.ts';

const usage = `Usage: integration-sync mcp [options]

A server of the Model Context Protocol over standard input and output, which an agent's program starts. Its tools read
records, runs, webhooks and events, and plan pushes. No tool writes.

  --url, --key-file   as for load
  --patience SECONDS  for how long a call is repeated before its tool fails (20)
`;

export const mcp: Command = {
  name: 'mcp',
  summary: 'serve an agent: it reads and plans, and writes nothing',
  usage,
  async run(args, context) {
    const options = { ...connectionOptions, patience: { type: 'string', default: '20' } } as const;
    const { values } = explained(() => parseArgs({ args: [...args], options }), usage);
    if (values.help) {
      await context.streams.out(usage);
      return exitCodes.all;
    }
    const left = new AbortController();
    const signal = AbortSignal.any([context.interrupt, left.signal]);
    const { client } = await connect(context.environment, values, signal);
    // The MCP SDK is imported only by this command, because it takes longer to load than all other commands.
    const { serveAgent } = await import('../mcp/mcp-server.ts');
    try {
      return await serveAgent(client, context);
    } finally {
      left.abort();
    }
  },
};
