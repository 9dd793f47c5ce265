// Rows as CSV (RFC 4180) that a spreadsheet shows as they are. A cell that begins as a formula does gets an apostrophe before
// it, which spreadsheets take for "this is text". Pure.

type Cell = string | number;

export const csvOf = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

function cellOf(cell: Cell): string {
  const text = String(cell);
  const plain = typeof cell === 'string' && /^\s*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
