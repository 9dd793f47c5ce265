// Validates the messages that a storm has seen by their description (docs/asyncapi.json).
import type { IncomingHttpHeaders } from 'node:http';
import { testKind } from '@integration-sync/contracts';
import { describeMessages, inPascalCase } from '@integration-sync/gateway/asyncapi';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { EventLine } from './lines.ts';

interface Message {
  headers: { properties: object };
  payload: object;
}

/** Returns a function that finds the validator of one part of a message; undefined if the description lacks the message. */
export function openValidators(components: object) {
  const ajv = new Ajv2020({ strict: false, logger: false });
  formats.default(ajv);
  ajv.addSchema({ $id: 'messages', components });
  return (name: string, part: 'headers' | 'payload'): ValidateFunction | undefined =>
    ajv.getSchema(`messages#/components/messages/${name}/${part}`);
}

/** Each function returns what the description does not allow; undefined if the message is as described. */
export function openDescribed() {
  const { components }: { components: { messages: Record<string, Message> } } = JSON.parse(
    JSON.stringify(describeMessages()),
  );
  const validatorOf = openValidators(components);

  function faultOf(name: string, parts: { headers: object; payload: unknown }): string | undefined {
    for (const part of ['headers', 'payload'] as const) {
      const isValid = validatorOf(name, part);
      if (isValid === undefined) return `${name} is not described`;
      if (!isValid(parts[part])) return `${name}, ${part}: ${inWords(isValid.errors)}`;
    }
    return undefined;
  }

  return {
    faultOfEvent({ id, subject, body }: EventLine): string | undefined {
      const wanted = `events.${body.integrationId}.${body.event}`;
      if (subject !== wanted) return `stands on ${subject} instead of ${wanted}`;
      return faultOf(inPascalCase(body.event), { headers: { 'Nats-Msg-Id': id }, payload: body });
    },
    faultOfDelivery(kind: string, headers: IncomingHttpHeaders, body: string): string | undefined {
      // Test deliveries and drills carry no event.
      if (kind === testKind || 'x-webhook-drill' in headers) return undefined;
      const name = `${inPascalCase(kind)}Delivery`;
      // Node has the names of headers in lower case.
      const named = Object.keys(components.messages[name]?.headers.properties ?? {}).flatMap((header) => {
        const value = headers[header.toLowerCase()];
        return value === undefined ? [] : [[header, value]];
      });
      return faultOf(name, { headers: Object.fromEntries(named), payload: JSON.parse(body) });
    },
  };
}

const inWords = (errors: ValidateFunction['errors']): string =>
  (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`.trim()).join(', ');
