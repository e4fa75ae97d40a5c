import { refuse } from '../reply';

const FLAGS = new Set(['no-writes', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys']);

export interface Shebang {
  /** True if the source begins with a shebang line, `#!lua`. */
  readonly exists: boolean;
  readonly flags: ReadonlySet<string>;
  /** The source without the shebang. Its lines keep their numbers. */
  readonly code: string;
}

/** Parses the shebang line of a script. @throws RedisError */
export function readShebang(source: string): Shebang {
  if (!source.startsWith('#!')) return { exists: false, flags: new Set(), code: source };
  const end = source.indexOf('\n');
  if (end < 0) refuse('ERR Invalid script shebang');
  const [engine, ...options] = source.slice(0, end).trim().split(/\s+/);
  if (engine !== '#!lua') refuse(`ERR Unexpected engine in script shebang: ${engine}`);
  const flags = new Set<string>();
  for (const option of options) {
    if (!option.startsWith('flags=')) refuse(`ERR Unknown lua shebang option: ${option}`);
    const list = option.slice('flags='.length);
    for (const flag of list === '' ? [] : list.split(',')) {
      if (!FLAGS.has(flag)) refuse(`ERR Unexpected flag in script shebang: ${flag}`);
      flags.add(flag);
    }
  }
  return { exists: true, flags, code: source.slice(end) };
}
