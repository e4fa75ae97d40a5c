import type { SortedSet } from './sorted-set';
import type { Stream } from './streams/stream';

/** Value of a key. A write replaces a string, and changes any other value in place, after copying it if a snapshot may need it. */
export type Value = string | HashValue | ListValue | SetValue | SortedSet | Stream;
export type TypeName = 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream';

export class HashValue {
  readonly type = 'hash';

  constructor(readonly fields = new Map<string, string>()) {}

  get size(): number {
    return this.fields.size;
  }

  copy(): HashValue {
    return new HashValue(new Map(this.fields));
  }
}

export class ListValue {
  readonly type = 'list';

  constructor(public items: string[] = []) {}

  get size(): number {
    return this.items.length;
  }

  copy(): ListValue {
    return new ListValue([...this.items]);
  }
}

export class SetValue {
  readonly type = 'set';

  constructor(readonly members = new Set<string>()) {}

  get size(): number {
    return this.members.size;
  }

  copy(): SetValue {
    return new SetValue(new Set(this.members));
  }
}

export function typeOfValue(value: Value): TypeName {
  return typeof value === 'string' ? 'string' : value.type;
}

export function copyOfValue(value: Value): Value {
  return typeof value === 'string' ? value : value.copy();
}
