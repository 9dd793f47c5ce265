// A spreadsheet takes a cell of CSV that begins with =, +, - or @ for a formula, which can read other cells and call programs. An
// apostrophe before it makes it a text; a load of such a file takes the apostrophe off again.

const formula = /^[\s']*[=+\-@]/;
/** Neither numbers nor numbers of telephones can do anything. */
const harmless = /^[+-]?[\d.,'()/\s]*-?$/;

const isFormula = (text: string): boolean => formula.test(text) && !harmless.test(text);

export const guarded = (text: string): string => (isFormula(text) ? `'${text}` : text);

export const unguarded = (text: string): string =>
  text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text;
