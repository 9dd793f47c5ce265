// Whether the gateway that served the page runs on the same machine as the browser, by the host's name. Pure.

export const isOfThisMachine = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host);
