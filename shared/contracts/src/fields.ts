// The JSON Schemas of the fields of records. `x-expected` describes a valid value in the message about a wrong value;
// `x-required` is the message about a missing value, which suppliers.ts, products.ts and batches.ts give. Null clears an optional
// field, and an empty text clears an optional text. shared/sync (items/field-changes.ts) says how an absent field, null and an
// empty text change a stored record.
import { Type } from 'typebox';
import { alpha2Codes, alpha3Codes, meantCodes } from './countries.ts';
import { limits } from './limits.ts';
import { parseInstant } from './time.ts';

const { textCharactersMax, textsMax } = limits;

const controls = '\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff';
const nul = '\\u0000\\ud800-\\udfff';

/** The regular expression of a text that has none of the `excluded` characters. The text may be empty. */
const without = (excluded: string): string => `^[^${excluded}]*$`;
/**
 * The regular expression of a text that has none of the `excluded` characters and is not blank: white space, one character that
 * is no white space, then any characters. Each character can match in only one way, so matching takes linear time. The expression
 * has no look-ahead, which some tools do not support.
 */
const notBlankWithout = (excluded: string): string => `^[^\\S${excluded}]*[^\\s${excluded}][^${excluded}]*$`;

const identifier = {
  minLength: 1,
  maxLength: limits.identifierCharactersMax,
  pattern: notBlankWithout(controls),
  'x-expected': `a string of 1 to ${limits.identifierCharactersMax} characters that is not blank and has no control characters`,
};

export const requiredIdentifier = (description: string, message: string) =>
  Type.String({ ...identifier, description, 'x-required': message });

/** The field `externalId` of a pushed record, by which the record is found. */
export const upsertKey = (description: string) => requiredIdentifier(description, 'externalId is required');

export const requiredText = (description: string, message: string) =>
  Type.String({
    maxLength: textCharactersMax,
    pattern: notBlankWithout(nul),
    description,
    'x-required': message,
    'x-expected': `a string of at most ${textCharactersMax} characters, without NUL or lone surrogates`,
  });

interface NullableTypes {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  array: string[];
}

export const nullable = <Name extends keyof NullableTypes>(type: Name, options: object) =>
  Type.Unsafe<NullableTypes[Name] | null>({ type: [type, 'null'], ...options });

export const instant = (description: string) => Type.String({ format: 'date-time', description });
export const nullableInstant = (description: string) =>
  nullable('string', { format: 'date-time', description });

export const oneOf = <const Value extends string>(values: readonly Value[], options: object = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values], ...options });

const optionalString = (options: object) => Type.Optional(nullable('string', options));

export const optionalText = (description: string, maxLength: number = textCharactersMax) =>
  optionalString({
    maxLength,
    pattern: without(nul),
    description,
    'x-expected': `a string of at most ${maxLength} characters, without NUL or lone surrogates`,
  });

/** A number of a due-diligence statement, without blanks: two different numbers must not look equal. */
export const optionalNumberText = (description: string, maxLength: number) =>
  optionalString({
    maxLength,
    pattern: without(`\\s${controls}`),
    description,
    'x-expected': `a string of at most ${maxLength} characters without blanks`,
  });

export const optionalIdentifier = (description: string) =>
  optionalString({
    ...identifier,
    minLength: 0,
    pattern: `^$|${identifier.pattern}`,
    description,
  });

/** An optional text of one of the `formats`. */
const optionalOf =
  (format: string, expected: string, bounds: { maxLength?: number } = {}) =>
  (description: string) =>
    optionalString({ ...bounds, format, description, 'x-expected': expected });

export const optionalCountry = optionalOf(
  'country',
  'an assigned ISO 3166-1 alpha-2 country code, such as "DE"',
);
export const optionalOrigin = optionalOf(
  'origin',
  'an assigned ISO 3166-1 country code of two or three letters, such as "DE" or "DEU"',
);
export const optionalHsCode = optionalOf(
  'hs-code',
  '2 to 12 digits, which dots, spaces and hyphens may separate',
  { maxLength: textCharactersMax },
);
export const optionalEmail = optionalOf(
  'address',
  `an e-mail address of at most ${textCharactersMax} characters, such as "anna@example.com"`,
  { maxLength: textCharactersMax },
);
export const optionalDate = optionalOf(
  'day-or-instant',
  'a calendar day such as "2026-03-31", or an RFC 3339 date-time with Z or an offset',
  // A fraction of a second may have any number of digits, so that only `maxLength` bounds the text.
  { maxLength: 64 },
);

export const optionalTexts = (description: string) =>
  Type.Optional(
    nullable('array', {
      maxItems: textsMax,
      items: { type: 'string', maxLength: textCharactersMax, pattern: without(nul) },
      description,
      'x-expected': `an array of at most ${textsMax} strings of at most ${textCharactersMax} characters each, without NUL or lone surrogates`,
    }),
  );

export const optionalFlag = (description: string) =>
  Type.Optional(nullable('boolean', { description, 'x-expected': 'true or false' }));

export const optionalAmount = (description: string) =>
  Type.Optional(
    nullable('number', { minimum: 0, description, 'x-expected': 'a finite number of 0 or more' }),
  );

/** Codes match in upper and lower case. Letters beyond ASCII are refused: `toUpperCase` makes ASCII letters of some of them. */
const isAssigned = (text: string, codes: ReadonlySet<string>): boolean =>
  /^[A-Za-z]+$/.test(text) && codes.has(text.toUpperCase());

/** Checks the formats that JSON Schema does not define. An empty text is always valid, because it clears the field. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  country: (text) => text === '' || isAssigned(text, alpha2Codes),
  origin: (text) => text === '' || isAssigned(text, alpha2Codes) || isAssigned(text, alpha3Codes),
  'hs-code': (text) => text === '' || /^\d{2,12}$/.test(text.replaceAll(/[. -]/g, '')),
  address: (text) =>
    text === '' || /^[^\s@<>\p{Cc}\p{Cs}]+@[^\s@.<>\p{Cc}\p{Cs}]+(?:\.[^\s@.<>\p{Cc}\p{Cs}]+)+$/u.test(text),
  'day-or-instant': (text) => text === '' || parseInstant(text) !== undefined,
};

const meantCountry = (text: string): string | undefined => meantCodes.get(text.toUpperCase());

/** By format: the valid value that the error message proposes for a wrong text, if one is known. */
export const hints: Readonly<Record<string, (text: string) => string | undefined>> = {
  country: meantCountry,
  origin: meantCountry,
};
