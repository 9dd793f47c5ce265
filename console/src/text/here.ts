// Whether the page is of a stack on the reader's own machine. Pure.

export const isOfThisMachine = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host);
