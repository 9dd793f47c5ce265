// The header `Prefer` (RFC 7240). Of all preferences the gateway knows `handling=strict`, and ignores the others.

/** Of several preferences of one name the first counts. */
export function prefersStrict(prefer: string | string[] | undefined): boolean {
  if (typeof prefer !== 'string') return false;
  for (const preference of preferencesIn(prefer)) {
    const handling = /^[ \t]*handling[ \t]*(?:=[ \t]*(?:"(?<quoted>\w*)"|(?<bare>\w*)))?[ \t]*(?:;|$)/i.exec(
      preference,
    );
    if (handling === null) continue;
    const { quoted, bare } = handling.groups ?? {};
    return (quoted ?? bare)?.toLowerCase() === 'strict';
  }
  return false;
}

/** A comma within quotes ends none. */
function* preferencesIn(prefer: string): Generator<string> {
  let start = 0;
  let isQuoted = false;
  for (let index = 0; index < prefer.length; index += 1) {
    const character = prefer[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (character === '\\' && isQuoted) index += 1;
    else if (character === ',' && !isQuoted) {
      yield prefer.slice(start, index);
      start = index + 1;
    }
  }
  yield prefer.slice(start);
}
