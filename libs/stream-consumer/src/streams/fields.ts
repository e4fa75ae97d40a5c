const COLON = 0x3a;

/**
 * Reads the fields of an entry that another program wrote. Scripts pack each name and each value as `<length>:<bytes>`. If a name
 * comes twice, the last value counts.
 */
export function unpackFields(packed: Buffer): ReadonlyMap<string, Buffer> {
  const fields = new Map<string, Buffer>();
  let name: string | undefined;
  for (let at = 0; at < packed.length;) {
    const colon = packed.indexOf(COLON, at);
    const length = colon < 0 ? NaN : Number(packed.toString('latin1', at, colon));
    // No script packed this: another program wrote a field of the name `luanest:fields`. What cannot be read is left out.
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

/** Returns the object of an entry's fields, all as text. */
export function objectOf(fields: ReadonlyMap<string, Buffer>): Record<string, string> {
  // An assignment to the name `__proto__` would set the prototype; Object.fromEntries makes it a field like any other.
  return Object.fromEntries([...fields].map(([name, value]) => [name, value.toString()]));
}
