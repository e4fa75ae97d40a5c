/** Parameters and reply of a script, from the block comment at its top. */
export interface ScriptHeader {
  readonly verb: string;
  /** Names in the order of KEYS; a list ends in `[]`. */
  readonly keys: readonly string[];
  /** Names and types in the order of ARGV; a list's type is `list(...)`. */
  readonly args: readonly (readonly [name: string, type: string])[];
  /** Text after `Returns`. */
  readonly returns: string;
  /** Fields that the lines below `Returns` explain. */
  readonly explained: readonly string[];
  /** The words that begin the closing notes, such as `TTL` and `Replay`. */
  readonly notes: readonly string[];
}

function parameters(header: string, table: 'KEYS' | 'ARGV'): { name: string; type: string; list: boolean }[] {
  const rows = [...header.matchAll(new RegExp(`^${table}\\[(\\d+)(\\.\\.)?\\]\\s+(\\w+)\\s+(\\S+)`, 'gm'))];
  return rows.map(([, index, dots, name = '', type = ''], i) => {
    if (Number(index) !== i + 1)
      throw new Error(`The header lists ${table}[${index}] where it should list ${table}[${i + 1}]`);
    return { name, type, list: dots !== undefined };
  });
}

/** Reads the header of a script. @throws Error if the script has no header of the agreed form */
export function parseScriptHeader(source: string): ScriptHeader {
  const header = /^--\[\[\n([\s\S]*?)\n\]\]/.exec(source)?.[1];
  const verb = /^([a-z0-9-]+): \S/.exec(header ?? '')?.[1];
  const returns = /^Returns (.+)$/m.exec(header ?? '')?.[1];
  if (header === undefined || verb === undefined || returns === undefined) {
    throw new Error('A script must start with --[[, `verb: what it does`, its KEYS and ARGV, and `Returns ...`');
  }
  const below = header.slice(header.indexOf(`Returns ${returns}`)).split('\n\n')[0] ?? '';
  return {
    verb,
    keys: parameters(header, 'KEYS').map(({ name, list }) => (list ? `${name}[]` : name)),
    args: parameters(header, 'ARGV').map(({ name, type }) => [name, type] as const),
    returns,
    explained: [...below.matchAll(/^ {2}(\w+)\s{2,}\S/gm)].map(([, field = '']) => field),
    notes: [...header.matchAll(/(?:^|\. )(O\(|TTL:|Clock:|Replay:)/gm)].map(([, note = '']) => note),
  };
}
