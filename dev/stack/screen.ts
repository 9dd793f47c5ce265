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
  Engines   ${redactUrl(nats)}  ${redactUrl(mongodb)}
  Logs      ${relative(process.cwd(), logFolder)}/
${stack.authSecret === undefined ? '' : firstPush(gateway, stack.token())}
Ctrl-C stops everything and keeps the data.
`;
}

const firstPush = (gateway: string, token: string): string => `
A token for the integration "acme" with every scope, good for an hour
(another one: npm run --silent token -- --integration acme), and a first push:

TOKEN=${token}
API=${gateway}${basePath}
curl -s $API/suppliers -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"suppliers":[{"externalId":"SUP-001","name":"Nordic Timber AB","country":"SE"}]}'
`;
