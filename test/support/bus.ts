// A bus for a test to ask and to answer with, silent in its log.
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';

export const openTestBus = (url: string, name = 'test'): Promise<Bus> =>
  openBus({ url, name, log: openLog({ service: name, level: 'silent' }) });

export const text = (body: Uint8Array): string => new TextDecoder().decode(body);
