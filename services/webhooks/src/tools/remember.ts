/** Remembers no more than so many: where that is full, it forgets what it has known for longest. */
export function remember<Key, Value>(known: Map<Key, Value>, key: Key, value: Value, max: number): void {
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= max && !known.has(key)) known.delete(oldest);
  known.set(key, value);
}
