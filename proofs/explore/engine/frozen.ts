import { copyOfValue, type Value } from '../../../libs/memory-redis/src/values';
import type { Keyspace } from '../../../libs/memory-redis/src/keyspace';
import { keyspaceText } from './keyspace-text';

/** All keys as they were once. A copy: nothing changes it. */
export class Frozen {
  private constructor(
    /** Equal for equal keys. */
    readonly text: string,
    private readonly entries: readonly { key: string; value: Value; expiresAtMs: number | undefined }[],
  ) {}

  static of(db: Keyspace): Frozen {
    const entries = db.keys().map((key) => ({
      key,
      value: copyOfValue(db.get(key) as Value),
      expiresAtMs: db.expiryOf(key) ?? undefined,
    }));
    return new Frozen(keyspaceText(db), entries);
  }

  writeTo(db: Keyspace): void {
    db.clear();
    for (const { key, value, expiresAtMs } of this.entries) db.set(key, copyOfValue(value), expiresAtMs);
  }
}

/** Copies the state of actors. Frozen objects and instances of classes are not copied, because nothing changes them. */
export function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.isFrozen(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const name in value) copy[name] = copyOf((value as Record<string, unknown>)[name]);
  return copy as T;
}
