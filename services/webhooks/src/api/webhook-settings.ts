// Validates the settings of an endpoint beside url and events (headers, description, recover and inFlightMax), and computes
// the fields to store. The schema of their values: contracts/webhooks.ts. No error message contains a header's value.
import {
  type ChangeWebhook,
  type FailureEntry,
  limits,
  pointerPart,
  quote,
} from '@integration-sync/contracts';
import { type EndpointSettings, headersSealedFor } from '../endpoints/endpoint.ts';
import type { Vault } from '../secrets/vault.ts';
import { type EgressGuard, TargetRefused } from '../sending/egress-guard.ts';
import type { Examined } from './request-body.ts';

const token = /^[\w!#$%&'*+.^`|~-]+$/;
/** Header names that a caller may not set: webhooks sets some itself, the others are hop-by-hop headers (RFC 9110 §7.6.1). */
const reserved = new Set(
  (
    'host user-agent traceparent tracestate expect ' +
    'connection keep-alive te trailer transfer-encoding upgrade http2-settings'
  ).split(' '),
);
const reservedBeginnings = ['content-', 'webhook-', 'x-webhook-', 'proxy-'];

/** Errors in the names of headers; the schema checks the values. */
function wrongHeaderNamesIn(given: object): FailureEntry[] {
  const headers: unknown = Reflect.get(given, 'headers');
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return [];
  const names = Object.keys(headers);
  if (names.length > limits.webhookHeadersMax) return [];
  const before = new Set<string>();
  return names.flatMap((name) => {
    const wrong = wrongNameIn(name, before);
    before.add(name.toLowerCase());
    if (wrong === undefined) return [];
    return [{ pointer: `/headers/${pointerPart(name)}`, detail: `headers: ${wrong}, got ${quote(name)}` }];
  });
}

function wrongNameIn(name: string, before: ReadonlySet<string>): string | undefined {
  const lower = name.toLowerCase();
  if (!token.test(name) || name.length > limits.webhookHeaderNameCharactersMax)
    return `expected a header name of at most ${limits.webhookHeaderNameCharactersMax} characters`;
  if (reserved.has(lower) || reservedBeginnings.some((beginning) => lower.startsWith(beginning)))
    return 'expected no header of the delivery itself or of its connection';
  return before.has(lower) ? 'expected each name once, in any case' : undefined;
}

type Given = Pick<ChangeWebhook, 'description' | 'headers' | 'recover' | 'inFlightMax'>;

export interface SettingsChange {
  set: EndpointSettings;
  clear: (keyof EndpointSettings)[];
}

export function settingsOf(
  { description, headers, recover, inFlightMax }: Given,
  vault: Pick<Vault, 'seal'>,
  endpointId: string,
): SettingsChange {
  const pairs = Object.entries(headers ?? {});
  const sealed = (): EndpointSettings => ({
    headers: vault.seal(JSON.stringify(pairs.flat()), headersSealedFor(endpointId)),
    headerNames: pairs.map(([name]) => name),
  });
  return {
    set: {
      ...(typeof description === 'string' ? { description } : {}),
      ...(recover === undefined ? {} : { recover }),
      ...(inFlightMax === undefined ? {} : { inFlightMax }),
      ...(pairs.length === 0 ? {} : sealed()),
    },
    clear: [
      ...(description === null ? (['description'] as const) : []),
      ...(headers !== undefined && pairs.length === 0 ? (['headers', 'headerNames'] as const) : []),
    ],
  };
}

/** Errors that the schema does not find: a url that the egress guard refuses, and header names that no delivery may carry. */
export async function wrongIn(
  guard: EgressGuard,
  { given, errors }: Examined<unknown>,
): Promise<FailureEntry[]> {
  const wrong = wrongHeaderNamesIn(given);
  const pointer = '/url';
  const url: unknown = Reflect.get(given, 'url');
  // The egress guard checks only a url that matches the schema.
  if (typeof url !== 'string' || errors.some((entry) => entry.pointer === pointer)) return wrong;
  try {
    await guard(url);
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error;
    wrong.push({ pointer, detail: `url: ${error.message}` });
  }
  return wrong;
}
