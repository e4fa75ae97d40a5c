import { shown } from '../../internal/src';
import { InvalidInputError } from './script-registry.errors';

const MAX_SUBJECT_CHARS = 1_024;
const SEGMENT = /^[a-z0-9][a-z0-9-]*$/;

function checked(value: string, what: string): string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_SUBJECT_CHARS || !value.isWellFormed()) {
    throw new InvalidInputError(
      `KeySpace: The ${what} is ${shown(value)}. Expected well-formed Unicode of 1 to ${MAX_SUBJECT_CHARS} characters. Pass a hash of longer text.`,
      { code: 'INVALID_KEY' },
    );
  }
  return value;
}

/** Escapes braces and `%` in an id. Braces would open or end a hash tag. If `%` were not escaped, two ids could give the same tag. */
function escapeTag(subject: string): string {
  if (!/[%{}]/.test(subject)) return subject;
  return subject.replace(/[%{}]/g, (char) => (char === '%' ? '%25' : char === '{' ? '%7B' : '%7D'));
}

/** Escapes braces, `%` and colons in a part of a key. Otherwise the parts `a:b` and `c` would give the same key as `a` and `b:c`. */
function escapeSegment(segment: string): string {
  return segment.includes(':') ? escapeTag(segment).replaceAll(':', '%3A') : escapeTag(segment);
}

/** Builds keys that all have the same hash tag, so that one call of a script may use several of them on a Cluster. */
export class TaggedKeys {
  constructor(private readonly base: string) {}

  /**
   * Builds the key `<prefix>:<lib>:{<tag>}:<name>[:<segment>...]`.
   *
   * @param name what the key holds, such as `counter`; kebab-case
   * @param segments more parts of the key; each is well-formed Unicode with a `length` of 1 to 1,024
   * @throws InvalidInputError for an invalid name or segment
   */
  key(name: string, ...segments: readonly string[]): string {
    if (!SEGMENT.test(name))
      throw new InvalidInputError(
        `KeySpace: The key name is ${shown(name)}. Expected kebab-case, such as "daily-counter".`,
        {
          code: 'INVALID_KEY',
        },
      );
    let key = `${this.base}:${name}`;
    for (const segment of segments) key += `:${escapeSegment(checked(segment, 'key segment'))}`;
    return key;
  }

  /**
   * Prepares many keys that differ only in their last part. Their common beginning is built once.
   *
   * @returns a function that takes the last part, and returns the whole key
   * @throws InvalidInputError for an invalid name or segment. The returned function throws it for an invalid last segment
   */
  series(name: string, ...segments: readonly string[]): (last: string) => string {
    const start = this.key(name, ...segments);
    return (last) => `${start}:${escapeSegment(checked(last, 'key segment'))}`;
  }
}

/** Builds the keys of one lib. Braces in an id are escaped, so they cannot change the hash tag. */
export class KeySpace {
  private readonly base: string;

  /**
   * @param prefix first part of every key; well-formed Unicode with a `length` of 1 to 1,024, without braces
   * @param lib second part; kebab-case
   * @throws InvalidInputError for an invalid prefix or lib
   */
  constructor(prefix: string, lib: string) {
    if (/[{}]/.test(checked(prefix, 'key prefix'))) {
      throw new InvalidInputError(
        `KeySpace: The key prefix is ${shown(prefix)}. Expected text without braces, because braces would change the hash tag of the keys.`,
        { code: 'INVALID_KEY' },
      );
    }
    if (!SEGMENT.test(lib))
      throw new InvalidInputError(
        `KeySpace: The lib, the second part of all keys, is ${shown(lib)}. Expected kebab-case, such as "my-lib".`,
        {
          code: 'INVALID_KEY',
        },
      );
    this.base = `${prefix}:${lib}`;
  }

  /**
   * Returns a builder for the keys of one subject, such as a user. The subject becomes the hash tag of the keys, with braces and `%`
   * escaped.
   *
   * @param subject id of the user, order or other thing that the keys belong to; any well-formed Unicode with a `length` of 1 to 1,024
   * @throws InvalidInputError for an invalid subject
   */
  tag(subject: string): TaggedKeys {
    return new TaggedKeys(`${this.base}:{${escapeTag(checked(subject, 'subject'))}}`);
  }

  /**
   * Returns a builder for keys in the same hash slot as an existing key. Another lib or program may have created this key.
   *
   * @param key the whole existing key, with its prefix. The new keys get the hash tag of this key. If the key has no hash tag, the whole
   *   key becomes the hash tag of the new keys.
   * @throws InvalidInputError if the key is invalid, or has braces but no hash tag
   */
  sameSlotAs(key: string): TaggedKeys {
    const [, tag] = /^[^{]*\{([^}]+)\}/.exec(checked(key, 'key')) ?? [];
    if (tag === undefined && /[{}]/.test(key)) {
      throw new InvalidInputError(
        `KeySpace.sameSlotAs: The key ${shown(key)} has braces, but no hash tag. Expected a hash tag, as in "orders:{eu}".`,
        { code: 'INVALID_KEY' },
      );
    }
    return new TaggedKeys(`${this.base}:{${tag ?? key}}`);
  }
}
