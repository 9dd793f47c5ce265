// The message pattern that the gateway and the service of the rival in NestJS share.
import { settings } from '../settings.ts';

export const pushPattern = `${settings.name}.push`;

export interface PushMessage {
  integration: string;
  suppliers: unknown[];
}
