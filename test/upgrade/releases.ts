// Of which release the data set is that this checkout starts on. Pure.

const partsOf = (version: string): number[] => version.split('.').map(Number);

function isAtMost(one: string, other: string): boolean {
  const [ours, theirs] = [partsOf(one), partsOf(other)];
  const differs = ours.findIndex((part, index) => part !== theirs[index]);
  return differs === -1 || (ours[differs] ?? 0) < (theirs[differs] ?? 0);
}

/** The newest that is no newer than this checkout: that of its own version, once that release has left one. */
export function chooseRelease(kept: readonly string[], version: string): string {
  const [first, ...others] = kept.filter((release) => isAtMost(release, version));
  if (first === undefined) throw new RangeError(`no data set is of ${version} or of a release before it`);
  return others.reduce((newest, release) => (isAtMost(newest, release) ? release : newest), first);
}

/** As the changelog has them, the newest first. */
export const releasesOf = (changelog: string): string[] =>
  Array.from(changelog.matchAll(/^## (\d+\.\d+\.\d+)\b/gm), ([, version = '']) => version);
