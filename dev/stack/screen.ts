// The few lines that stay on the terminal while the stack runs. A person can paste from them.
import { relative } from 'node:path';
import { basePath } from '@integration-sync/contracts';
import { redactUrl } from '@integration-sync/runtime/log';
import type { Stack } from './index.ts';

export function welcome(stack: Stack): string {
  const { gateway, nats, mongodb, logFolder } = stack;
  return `
The stack is ready.

  Gateway   ${gateway}
  Docs      ${gateway}/docs
${stack.console === undefined ? '' : `  Console   ${stack.console}\n`}  Engines   ${redactUrl(nats)}  ${redactUrl(mongodb)}
  Logs      ${relative(process.cwd(), logFolder)}/
${stack.key === undefined ? '' : firstPush(gateway, stack.key)}
Ctrl-C stops everything and keeps the data.
`;
}

const firstPush = (gateway: string, key: string): string => `
An API key for the integration "acme" with every scope, which stays good
(more of them: npm run client -- --help), and a first push:

KEY=${key}
API=${gateway}${basePath}
curl -s $API/suppliers -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"suppliers":[{"externalId":"SUP-001","name":"Nordic Timber AB","country":"SE"}]}'
`;
