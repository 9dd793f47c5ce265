/** The bytes that make the structure of JSON outside of its strings, and those that end or escape a string. */
export const jsonSigns = {
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
  colon: 0x3a,
  brace: 0x7b,
  bracket: 0x5b,
  braceEnd: 0x7d,
  bracketEnd: 0x5d,
} as const;
