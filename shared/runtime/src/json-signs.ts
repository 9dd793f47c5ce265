/** The bytes of a JSON text that have a meaning outside of its texts, and those that end or escape a text. */
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
