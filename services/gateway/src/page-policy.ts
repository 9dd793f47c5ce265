// What a browser lets a page of the gateway do: nothing from elsewhere, and nothing that is written into the page.

const alone = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** With what a page forbids besides. */
export const pagePolicy = (...more: readonly string[]): string => [...alone, ...more].join('; ');
