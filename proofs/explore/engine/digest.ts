import { createHash } from 'node:crypto';
import type { Keyspace } from '../../../libs/memory-redis/src/keyspace';
import { Frozen } from './frozen';
import { keyspaceText } from './keyspace-text';
import type { ScriptCall } from './script-call';

/** Returns the digest of a state: of all keys, of the clock, and of the actors. */
export function digestOf(db: Keyspace, actors: object): string {
  const text = `${db.nowUs}\x01${keyspaceText(db)}\x04${JSON.stringify(actors, asText)}`;
  // 120 bits: among a million states, two different ones have the same digest with a chance of about 10^-24.
  return createHash('sha1').update(text).digest('base64').slice(0, 20);
}

function asText(_name: string, value: unknown): unknown {
  if (value instanceof Frozen) return value.text;
  const script = (value as ScriptCall | null)?.script;
  return typeof script === 'object' ? [script.name, (value as ScriptCall).input] : value;
}
