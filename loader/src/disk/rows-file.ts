// A file that grows by whole rows. A resumed load truncates it to the length in the state, so no row is in it twice.
import { mkdir, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Stop, systemCodeOf } from '../core/exit.ts';
import { makeOwnFolder, openOwn } from './own-files.ts';

interface Opened {
  path: string;
  file: FileHandle;
}

export class Output implements AsyncDisposable {
  readonly #openFile: () => Promise<Opened>;
  #opening: Promise<Opened> | undefined;
  #pending: Uint8Array[] = [];
  #bytes: number;

  private constructor(how: () => Promise<Opened>, bytes: number) {
    this.#openFile = how;
    this.#bytes = bytes;
  }

  /** The file at `path`, truncated to `bytes`, which it must have. Without `bytes` the file is created or emptied. */
  static at(path: string, bytes?: number): Output {
    return new Output(async () => {
      await mkdir(dirname(path), { recursive: true });
      const file = await openOwn(path, bytes === undefined ? 'empty' : 'grown');
      const isShorter = (await file.stat()).size < (bytes ?? 0);
      if (bytes !== undefined && !isShorter) await file.truncate(bytes);
      if (!isShorter) return { path, file };
      await file.close();
      throw new Stop(`${path} is gone, or shorter than the load left it: load anew, without --resume.`);
    }, bytes ?? 0);
  }

  /** A new file `name.csv`, or `name-2.csv` if that exists: a user may be repairing the file of an earlier load. */
  static fresh(folder: string, name: string, extension: string): Output {
    return new Output(async () => {
      await makeOwnFolder(folder);
      for (let count = 1; ; count += 1) {
        const path = join(folder, `${name}${count === 1 ? '' : `-${count}`}${extension}`);
        try {
          return { path, file: await openOwn(path, 'fresh') };
        } catch (error) {
          if (systemCodeOf(error) !== 'EEXIST') throw error;
        }
      }
    }, 0);
  }

  /** The length of the file once all pending rows are written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Creates or opens the file, and resolves with its path. */
  async open(): Promise<string> {
    this.#opening ??= this.#openFile();
    return (await this.#opening).path;
  }

  write(bytes: Uint8Array): void {
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
    // Rows are removed from the pending rows only after the write: if the disk is full, no saved state may count them as written.
    this.#pending.splice(0, length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opening === undefined) return;
    // An error at opening the file is ignored here, because it has already ended the load.
    const opened = await this.#opening.catch(() => undefined);
    await opened?.file.close();
  }
}
