// What the gateway and the service of NestJS both have to know.
import { settings } from '../settings.ts';

export const pushPattern = `${settings.name}.push`;

export interface PushMessage {
  integration: string;
  suppliers: unknown[];
}
