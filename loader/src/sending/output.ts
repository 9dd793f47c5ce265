// A file that grows by whole rows. A load that goes on cuts it to what its state knows, so that no row stands in it twice.
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCodeOf } from '../exit.ts';

interface Opened {
  path: string;
  file: FileHandle;
}

export class Output implements AsyncDisposable {
  readonly #openFile: () => Promise<Opened>;
  #opening: Promise<Opened> | undefined;
  #pending: Buffer[] = [];
  #bytes: number;

  private constructor(how: () => Promise<Opened>, bytes: number) {
    this.#openFile = how;
    this.#bytes = bytes;
  }

  /** Without `bytes`, a file that is new or made empty. */
  static at(path: string, bytes?: number): Output {
    return new Output(async () => {
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, bytes === undefined ? 'w' : 'r+');
      if (bytes !== undefined) await file.truncate(bytes);
      return { path, file };
    }, bytes ?? 0);
  }

  /** `name.csv`, or `name-2.csv` where that is there: the file of an earlier load may be under repair. */
  static fresh(folder: string, name: string, extension: string): Output {
    return new Output(async () => {
      await mkdir(folder, { recursive: true });
      for (let count = 1; ; count += 1) {
        const path = join(folder, `${name}${count === 1 ? '' : `-${count}`}${extension}`);
        try {
          return { path, file: await open(path, 'wx') };
        } catch (error) {
          if (systemCodeOf(error) !== 'EEXIST') throw error;
        }
      }
    }, 0);
  }

  /** How long the file is once all is written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Where the file is. */
  async open(): Promise<string> {
    this.#opening ??= this.#openFile();
    return (await this.#opening).path;
  }

  write(bytes: Buffer): void {
    this.#pending.push(bytes);
    this.#bytes += bytes.length;
  }

  async flush(): Promise<void> {
    this.#opening ??= this.#openFile();
    const { file } = await this.#opening;
    if (this.#pending.length === 0) return;
    const { length } = this.#pending;
    const bytes = Buffer.concat(this.#pending);
    const at = this.#bytes - bytes.length;
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await file.write(bytes, written, bytes.length - written, at + written);
      written += bytesWritten;
    }
    // Kept until now: where the disk is full, no state may say that they are written.
    this.#pending.splice(0, length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opening === undefined) return;
    // Where it could not be opened, the load has failed of that.
    const opened = await this.#opening.catch(() => undefined);
    await opened?.file.close();
  }
}
