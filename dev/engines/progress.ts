// Reports long steps on the terminal: after some seconds without a line, it says which steps go on and for how long.
export interface Progress extends Disposable {
  say(line: string): void;
  /** Names what is being waited for. `note` replaces its detail, such as "installing packages". */
  during<T>(what: string, work: (note: (detail: string) => void) => Promise<T>): Promise<T>;
}

const silenceMsMax = 4_000;

export function openProgress(say: (line: string) => void): Progress {
  const steps = new Set<{ what: string; detail: string; since: number }>();
  let spokenAt = performance.now();
  const speak = (line: string): void => {
    spokenAt = performance.now();
    say(line);
  };
  const remind = (): void => {
    if (steps.size === 0 || performance.now() - spokenAt < silenceMsMax - 500) return;
    for (const { what, detail, since } of steps) {
      const seconds = Math.round((performance.now() - since) / 1_000);
      speak(`${what}: ${seconds} s so far${detail === '' ? '' : `, ${detail}`}`);
    }
  };
  const timer = setInterval(remind, 1_000);
  return {
    say: speak,
    async during(what, work) {
      const step = { what, detail: '', since: performance.now() };
      steps.add(step);
      try {
        return await work((detail) => {
          step.detail = detail.trim().slice(0, 80);
        });
      } finally {
        steps.delete(step);
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer);
    },
  };
}
