// The webhooks service as a process of its own.
import { inject } from 'vitest';
import { startServiceProcess, type ServiceProcess } from './service-process.ts';

export type WebhookProcess = ServiceProcess;

/** Starts the process; resolves once it serves. */
export const startWebhookProcess = (
  environment: Readonly<Record<string, string>>,
  program = inject('programs').webhooks,
): Promise<WebhookProcess> => startServiceProcess(program, environment);
