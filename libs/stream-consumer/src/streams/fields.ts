const COLON = 0x3a;

/**
 * Unpacks the fields of an entry that another program wrote. Scripts return them as one text, each name and each value as
 * `<length>:<bytes>`. If a name comes twice, its last value counts.
 */
export function unpackFields(packed: Buffer): ReadonlyMap<string, Buffer> {
  const fields = new Map<string, Buffer>();
  let name: string | undefined;
  for (let at = 0; at < packed.length;) {
    const colon = packed.indexOf(COLON, at);
    const length = colon < 0 ? NaN : Number(packed.toString('latin1', at, colon));
    // No script of luanest has packed this text: the other program has written a field with the name `luanest:fields`. The rest of the text
    // is ignored.
    if (!Number.isSafeInteger(length) || length < 0) break;
    const text = packed.subarray(colon + 1, colon + 1 + length);
    at = colon + 1 + length;
    if (name === undefined) {
      name = text.toString();
      continue;
    }
    fields.set(name, text);
    name = undefined;
  }
  return fields;
}

/** Converts the fields of an entry into an object with UTF-8 text as values. */
export function objectOf(fields: ReadonlyMap<string, Buffer>): Record<string, string> {
  // Object.fromEntries also makes a normal property for the name `__proto__`. An assignment would set the prototype instead.
  return Object.fromEntries([...fields].map(([name, value]) => [name, value.toString()]));
}
