// A number with its noun. Pure.

/** A count with its noun: `1 push`, `2 pushes`, `1,000 events`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
