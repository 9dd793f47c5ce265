// A spreadsheet reads a CSV cell that begins with =, +, - or @ as a formula, which can read other cells and call programs. An
// apostrophe before such a cell makes it a text. When the file is loaded, the apostrophe is removed again.

const formula = /^[\s']*[=+\-@]/;
/** Numbers and telephone numbers are harmless, and get no apostrophe. */
const harmless = /^[+-]?[\d.,'()/\s]*-?$/;

const isFormula = (text: string): boolean => formula.test(text) && !harmless.test(text);

export const guarded = (text: string): string => (isFormula(text) ? `'${text}` : text);

export const unguarded = (text: string): string =>
  text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text;
