// Starts a service that stops at one stage of a push, and kills it there, or lets it go on.
import type { Stage } from '@integration-sync/sync';
import { inject } from 'vitest';
import { isServing, startServiceProcess, type ServiceProcess } from './service-process.ts';

export interface StoppingService extends Pick<ServiceProcess, 'pid' | 'kill'>, AsyncDisposable {
  /** Resolves once a push has come to the stage. */
  reached(): Promise<void>;
  /** Names the stage at which a further push stops; resolves once the service knows it. */
  stopAt(next: string): Promise<void>;
  /** Lets the service go on from the stage, at which it stops only once. */
  goOn(): void;
  /** Ends the service in good order; resolves once it has answered all its requests and has ended. */
  finish(): Promise<void>;
}

export async function startStoppingService(
  service: 'catalog' | 'batches',
  stage: Stage | 'none',
  environment: Readonly<Record<string, string>>,
  program = inject('programs').stoppingService,
): Promise<StoppingService> {
  const running = await startServiceProcess(program, environment, [service, stage]);
  const { input, lines } = running;
  let from = 0;
  return {
    ...running,
    goOn: () => void input.write('go on\n'),
    async finish() {
      input.end();
      await running.ended;
    },
    reached: async () => void (await running.said((line) => line === 'reached', from)),
    async stopAt(next) {
      from = lines.length;
      input.write(`${next}\n`);
      await running.said(isServing, from);
    },
  };
}
