// Watches the services while they run: it prints faults on the terminal, and fails a start immediately
// when a service dies before the stack was ever ready.
import type { Progress } from '../engines/progress.ts';
import { StartFailure } from './failure.ts';
import type { FleetOptions } from './fleet.ts';
import { openDamper, readLine } from './lines.ts';

export interface Watch {
  listeners: Pick<FleetOptions, 'onTrouble' | 'onDeath'>;
  /** Fires with a StartFailure when a service dies during the start. */
  failed: AbortSignal;
  /** The stack is ready: from now on the supervisor restarts dead services, and the terminal shows faults. */
  started(): void;
}

const sameWordsAgainMs = 10_000;

export function openWatch(progress: Progress): Watch {
  const isNews = openDamper(sameWordsAgainMs);
  const failure = new AbortController();
  let isStarted = false;
  return {
    failed: failure.signal,
    started() {
      isStarted = true;
    },
    listeners: {
      // During the start, services rightly log that other services are not there yet.
      onTrouble(name, { text }) {
        const words = `${name}: ${text}`;
        if (isStarted && isNews(words)) progress.say(words);
      },
      onDeath(name, how, againInMs, lastLines) {
        if (!isStarted) failure.abort(new StartFailure(explainDeath(name, how, lastLines)));
        else if (againInMs === undefined) progress.say(`${name} died (${how}), and is not restarted`);
        else progress.say(`${name} died (${how}); starting it again in ${againInMs} ms`);
      },
    },
  };
}

function explainDeath(name: string, how: string, lastLines: readonly string[]): string {
  const troubles = lastLines.map((line) => readLine(line)).filter(({ isTrouble }) => isTrouble);
  const told = troubles.slice(-12).map(({ text }) => text);
  return [`The service ${name} does not start (${how}).`, ...told].join('\n');
}
