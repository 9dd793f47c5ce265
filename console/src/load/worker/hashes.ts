// The hashes of the chosen files, each computed once.
import { hashOf } from 'integration-sync/browser';

export class Hashes {
  readonly #known = new WeakMap<File, Promise<string>>();

  of(file: File): Promise<string> {
    const known = this.#known.get(file);
    if (known !== undefined) return known;
    // Browsers compute no digests for a page without https: there, size and time of the last change identify a file.
    const hashing = hashOf(file.name, file).then(
      (hash) => hash ?? `${file.size} bytes of ${file.lastModified}`,
    );
    this.#known.set(file, hashing);
    return hashing;
  }
}
