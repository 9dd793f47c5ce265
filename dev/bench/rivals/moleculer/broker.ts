// The broker options of both Moleculer processes.
import type { BrokerOptions } from 'moleculer';
import { settings } from '../settings.ts';

export interface Meta {
  integration: string;
}

export const brokerOptions = (nodeID: string): BrokerOptions => ({
  namespace: settings.name,
  nodeID,
  transporter: { type: 'NATS', options: { servers: [settings.nats] } },
  logLevel: 'error',
});
