// The log of every process, on stdout: a JSON object a line, or readable text if stdout is a terminal. The log shows no secrets:
// values under names of secrets are blanked, credentials are cut from addresses, and an error shows no other property than its
// message, code, stack and cause.
import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { keepUrgent } from './urgent-lines.ts';

export type Log = pino.Logger;

export interface LogOptions {
  service: string;
  level: string;
  /** Whether log lines are readable text instead of JSON; by default if stdout is a terminal. */
  pretty?: boolean;
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
        streamWrite(line) {
          const redacted = redactLine(line);
          keepUrgent(redacted);
          return pretty ? inWords(redacted) : redacted;
        },
        logMethod(words, method, weight) {
          method.apply(this, words);
          if (weight >= urgent) lines.flush?.();
        },
      },
    },
    lines,
  );
}

/** Lines of level warn or higher are flushed immediately: the process may be about to die. */
const urgent = pino.levels.values.warn ?? 0;

/**
 * Blanks each string, or list of strings, under the name of a secret, at any depth of a finished JSON line. Quotes inside strings
 * are escaped, so no string is taken for a name. (pino's own redaction needs the path of each name, takes 75 µs a line instead of
 * 2, and does not redact the messages of errors.)
 */
const redactLine = (line: string): string => redactUrl(line.replaceAll(secretField, '$1":"[secret]"'));

const secretField =
  /(authorization|cookie|password|secret|token)":(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*",?)*\])/gi;

/** Replaces user and password in every address of a text: `mongodb://***@host`. */
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

/** The message, code and stack of an error and of its causes. Other properties stay out: drivers put whole records there. */
function describeError(error: unknown, depth = 0): ErrorWords {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const words: ErrorWords = { type: error.name, message: error.message };
  if ('code' in error) words.code = error.code;
  if (error.stack !== undefined) words.stack = error.stack;
  if (error.cause !== undefined && depth < 5) words.cause = describeError(error.cause, depth + 1);
  return words;
}

// The buffer of log lines before stdout. A write for each line would wake the reader of stdout each time, so the buffer is
// written when an urgent line comes, at 8 KiB, when the process ends, and after 20 ms at the latest. `kill -9` loses the buffer.

const patienceMs = 20;
const enough = 8 * 1_024;

let opened: ReturnType<typeof open> | undefined;

/** The one buffer of a process for stdout, so that the lines of all its logs keep their order. */
export const stdout = () => (opened ??= open());

function open() {
  const stream = pino.destination({ dest: 1, sync: true, minLength: enough });
  let timer: NodeJS.Timeout | undefined;
  // `flushSync` of pino would retry for ever once no process reads the pipe.
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    stream.flush();
  };
  process.on('exit', flush);
  return {
    write(line: string): void {
      stream.write(line);
      timer ??= setTimeout(flush, patienceMs).unref();
    },
    flush,
  };
}
