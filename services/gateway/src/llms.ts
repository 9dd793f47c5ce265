// `/llms.txt`: a list for agents of what they can read, in the order of an integrator's work. The list is made from the route
// table, and links operations of the OpenAPI document.
import { pointerInOpenapi, routes } from '@integration-sync/contracts';
import { introduction, tags } from './openapi/document.ts';
import { gatewayPages, type GatewayPagesOptions } from './openapi/gateway-pages.ts';
import { scopesInWords } from './openapi/operations.ts';

export function describeForAgents(options: GatewayPagesOptions): string {
  const sections = tags.map(({ name, description }) => {
    const lines = routes
      .filter(({ tag }) => tag === name)
      .map((route) => lineOf(route.method, route.path, `${route.summary}. Scope ${scopesInWords(route)}`));
    const pages = gatewayPages(options)
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) => lineOf(method, path, operation.summary));
    return [`## ${name}`, '', description, '', ...lines, ...pages, ''].join('\n');
  });
  const [summary = '', ...rules] = introduction.split('\n\n');
  return [
    '# Integration Sync Service',
    '',
    `> ${summary}`,
    '',
    ...rules.flatMap((rule) => [rule, '']),
    '## Descriptions',
    '',
    '- [OpenAPI 3.1](openapi.json): Every route with its scope, bodies, answers, errors and examples',
    '- [AsyncAPI 3.0](asyncapi.json): Events, their subjects and payloads, and webhook deliveries',
    '',
    ...sections,
  ].join('\n');
}

const lineOf = (method: string, path: string, what: string): string =>
  `- [${method} ${path}](${pointerInOpenapi({ method, path })}): ${what}`;
