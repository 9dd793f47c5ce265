// The problems with which a process refuses wrong settings.
import { ConfigError, readConfig, type Environment } from '@integration-sync/runtime/config';
import type { TObject } from 'typebox';

export function problemsWith(schema: TObject, environment: Environment): string {
  try {
    readConfig(schema, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the settings have no problem');
}
