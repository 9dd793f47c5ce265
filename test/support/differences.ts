// Where two values differ, as paths to the leaves: `spec.replicas`. List items that have a `name` are compared by name
// and not by position, as Kubernetes does.

export function differences(one: unknown, other: unknown, path: readonly string[] = []): string[] {
  if (Object.is(one, other)) return [];
  const [left, right] = [treeOf(one), treeOf(other)];
  if (left === undefined || right === undefined) return [path.join('.')];
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].flatMap((key) => differences(left[key], right[key], [...path, key]));
}

function treeOf(value: unknown): Record<string, unknown> | undefined {
  if (Array.isArray(value) && value.length > 0 && value.every(isNamed)) {
    return Object.fromEntries(value.map((item) => [item.name, item]));
  }
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

const isNamed = (item: unknown): item is { name: string } =>
  typeof item === 'object' && item !== null && 'name' in item && typeof item.name === 'string';
