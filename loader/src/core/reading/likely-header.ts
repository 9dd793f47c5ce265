// Guesses the header row of a table whose columns have unknown names, for `load --sample` and for messages.

/**
 * The index of the first row that is as wide as most rows and has names in most of its cells. A title is narrower, or has one
 * cell.
 */
export function likelyHeader(rows: readonly (readonly string[])[]): number {
  const width = usualWidth(rows);
  const found = rows.findIndex(
    (cells) => cells.length >= width && filled(cells) >= Math.max(2, Math.ceil(width / 2)) && !isRuler(cells),
  );
  if (found >= 0) return found;
  return Math.max(
    rows.findIndex((cells) => filled(cells) > 0 && !isRuler(cells)),
    0,
  );
}

/** The most frequent number of cells in a row. Rows with one cell do not count. */
export function usualWidth(rows: readonly (readonly string[])[]): number {
  const counts = new Map<number, number>();
  for (const { length } of rows) if (length > 1) counts.set(length, (counts.get(length) ?? 0) + 1);
  const [most] = [...counts].toSorted(
    ([one, times], [other, otherTimes]) => otherTimes - times || other - one,
  );
  return most?.[0] ?? 1;
}

/** Whether a row is a line of dashes, which a list of SAP has above and below its header. */
export const isRuler = (cells: readonly string[]): boolean =>
  cells.every((cell) => /^[\s+|-]*$/.test(cell)) && cells.some((cell) => cell.includes('--'));

/** Whether a row consists of dashes, at least five in succession: it underlines the header, and is no record. */
export const isUnderline = (cells: readonly string[]): boolean =>
  isRuler(cells) && cells.some((cell) => cell.includes('-----'));

const filled = (cells: readonly string[]): number => cells.filter((cell) => cell.trim() !== '').length;
