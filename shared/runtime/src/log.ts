// Every process logs to stdout: JSON, one object a line, or text for people when stdout is a terminal.
// Nothing secret leaves through here, from any caller: keys that hold secrets are blanked, credentials in
// addresses are cut from the finished line, and of an error only its own words are printed.
import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

export type Log = pino.Logger;

export interface LogOptions {
  service: string;
  level: string;
  /** Text for people instead of JSON. Unless said otherwise: when stdout is a terminal. */
  pretty?: boolean;
  /** Where the lines go; stdout unless said otherwise. */
  destination?: pino.DestinationStream;
}

export function openLog({ service, level, pretty = process.stdout.isTTY, destination }: LogOptions): Log {
  const lines: pino.DestinationStream & { flush?(): void } = destination ?? stdout();
  const inWords = prettyFactory({
    ignore: 'service',
    singleLine: true,
    messageFormat: '{service}: {msg}',
    translateTime: 'HH:MM:ss.l',
  });
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error) => describeError(error) },
      hooks: {
        streamWrite: (line) => (pretty ? inWords(redactLine(line)) : redactLine(line)),
        logMethod(words, method, weight) {
          method.apply(this, words);
          if (weight >= urgent) lines.flush?.();
        },
      },
    },
    lines,
  );
}

/** From a warning on, a line is written at once: it may be the last that a dying process says. */
const urgent = pino.levels.values.warn ?? 0;

/**
 * Blanks the text, or list of texts, that stands under a secret's name at any depth of a finished line. Inside
 * a text every quote is escaped, so nothing there is taken for a name. (pino's own redaction wants each name
 * spelt out for each depth, takes 75 µs a line where this takes 2, and does not see what an error says.)
 */
const redactLine = (line: string): string => redactUrl(line.replaceAll(secretField, '$1":"[secret]"'));

const secretField =
  /(authorization|cookie|password|secret|token)":(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*",?)*\])/gi;

/** Cuts user and password out of every address in a text: `mongodb://***@host`. */
export function redactUrl(text: string): string {
  return text.includes('@') ? text.replaceAll(/(?<=:\/\/)[^\s"'/?#]+(?=@)/g, '***') : text;
}

interface ErrorWords {
  type: string;
  message: string;
  code?: unknown;
  stack?: string;
  cause?: ErrorWords;
}

/** An error's own words and those of its causes. Other properties stay out: drivers put whole records there. */
function describeError(error: unknown, depth = 0): ErrorWords {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const words: ErrorWords = { type: error.name, message: error.message };
  if ('code' in error) words.code = error.code;
  if (error.stack !== undefined) words.stack = error.stack;
  if (error.cause !== undefined && depth < 5) words.cause = describeError(error.cause, depth + 1);
  return words;
}

// Lines on their way to stdout. A write for each would wake their reader for each, so they are written
// together: as soon as one of them is urgent, when 8 KiB wait, when the process ends, and after 20 ms at the
// latest. That much of what is not urgent is lost when a process is killed with -9.

const patienceMs = 20;
const enough = 8 * 1_024;

export interface Lines extends pino.DestinationStream {
  /** Writes at once what waits. */
  flush(): void;
}

let opened: Lines | undefined;

/** The one way to stdout, however many logs a process has: their lines come out in the order they were said. */
export const stdout = (): Lines => (opened ??= open());

function open(): Lines {
  const stream = pino.destination({ dest: 1, sync: true, minLength: enough });
  let timer: NodeJS.Timeout | undefined;
  // Not `flushSync`, which tries for ever where no process reads the pipe any more.
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    stream.flush();
  };
  process.on('exit', flush);
  return {
    write(line) {
      stream.write(line);
      timer ??= setTimeout(flush, patienceMs).unref();
    },
    flush,
  };
}
