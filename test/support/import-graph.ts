// The imports within a package, between the rooms of its `src`: each folder is a room, and each file beside the folders.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The rooms that each room imports from. */
export type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

const roomOf = (file: string): string => file.split('/')[0] ?? file;

export function arrowsOf(folder: string): Arrows {
  const arrows = new Map<string, Set<string>>();
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
    const others = arrows.get(roomOf(file)) ?? new Set();
    arrows.set(roomOf(file), others);
    for (const [, path = ''] of readFileSync(join(folder, file), 'utf8').matchAll(
      /\b(?:from|import)\s*\(?'(\.[^']+)'/g,
    )) {
      const other = roomOf(normalize(join(dirname(file), path)));
      if (other !== roomOf(file)) others.add(other);
    }
  }
  return arrows;
}

/** A way from a room back to itself, as `a → b → a`; undefined where each arrow leads down. */
export function circleIn(arrows: Arrows): string | undefined {
  const isDown = new Set<string>();
  const follow = (room: string, way: readonly string[]): string | undefined => {
    if (isDown.has(room)) return undefined;
    const from = way.indexOf(room);
    if (from !== -1) return [...way.slice(from), room].join(' → ');
    for (const other of arrows.get(room) ?? []) {
      const circle = follow(other, [...way, room]);
      if (circle !== undefined) return circle;
    }
    isDown.add(room);
    return undefined;
  };
  for (const room of arrows.keys()) {
    const circle = follow(room, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}
