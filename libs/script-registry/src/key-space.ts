import { shown } from '../../internal/src';
import { InvalidKeyError } from './script-registry.errors';

const MAX_SUBJECT_CHARS = 1_024;
const SEGMENT = /^[a-z0-9][a-z0-9-]*$/;

function checked(value: string, what: string): string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_SUBJECT_CHARS || !value.isWellFormed()) {
    throw new InvalidKeyError(
      `The ${what} is ${shown(value)}. Expected a string of 1 to ${MAX_SUBJECT_CHARS} well-formed characters. Hash a longer one.`,
    );
  }
  return value;
}

/** Escapes what would end or open a hash tag; `%` too, so that no two subjects meet. */
function escapeTag(subject: string): string {
  if (!/[%{}]/.test(subject)) return subject;
  return subject.replace(/[%{}]/g, (char) => (char === '%' ? '%25' : char === '{' ? '%7B' : '%7D'));
}

/** As `escapeTag`, and the colon, so that `a:b` + `c` and `a` + `b:c` are different keys. */
function escapeSegment(segment: string): string {
  return segment.includes(':') ? escapeTag(segment).replaceAll(':', '%3A') : escapeTag(segment);
}

/** Keys of one subject: all carry the same hash tag, so one script may take them together on a Cluster. */
export class TaggedKeys {
  constructor(private readonly base: string) {}

  /**
   * Builds `<prefix>:<lib>:{<tag>}:<name>[:<segment>...]`.
   *
   * @param name what the key holds; kebab-case
   * @param segments further parts, any text of 1 to 1,024 characters
   * @throws InvalidKeyError for a name or a segment that cannot be part of a key
   */
  key(name: string, ...segments: readonly string[]): string {
    if (!SEGMENT.test(name)) throw new InvalidKeyError(`The key name is ${shown(name)}. Expected kebab-case.`);
    let key = `${this.base}:${name}`;
    for (const segment of segments) key += `:${escapeSegment(checked(segment, 'key segment'))}`;
    return key;
  }

  /**
   * Keys that differ in their last segment only: what they share is built once.
   *
   * @returns a function from the last segment to `key(name, ...segments, last)`
   * @throws InvalidKeyError as `key` does, the function too
   */
  series(name: string, ...segments: readonly string[]): (last: string) => string {
    const start = this.key(name, ...segments);
    return (last) => `${start}:${escapeSegment(checked(last, 'key segment'))}`;
  }
}

/** Builds the keys of one lib under one prefix. Braces in a subject can neither move nor break the hash tag. */
export class KeySpace {
  private readonly base: string;

  /**
   * @param prefix first part of every key; text without braces
   * @param lib second part; kebab-case
   * @throws InvalidKeyError for a prefix or a lib that cannot be part of a key
   */
  constructor(prefix: string, lib: string) {
    if (/[{}]/.test(checked(prefix, 'key prefix'))) {
      throw new InvalidKeyError(
        `The key prefix is ${shown(prefix)}. Expected text without braces, which would move the hash tag.`,
      );
    }
    if (!SEGMENT.test(lib))
      throw new InvalidKeyError(`The lib of the key space is ${shown(lib)}. Expected kebab-case.`);
    this.base = `${prefix}:${lib}`;
  }

  /**
   * Starts the keys of a subject, whose name becomes their hash tag.
   *
   * @param subject any text of 1 to 1,024 well-formed characters
   * @throws InvalidKeyError when it is none
   */
  tag(subject: string): TaggedKeys {
    return new TaggedKeys(`${this.base}:{${escapeTag(checked(subject, 'subject'))}}`);
  }

  /**
   * Starts keys in the slot of an existing key, which another lib or program may have named.
   *
   * @param key the whole key, with its prefix; its hash tag, or the whole key if it has none, becomes the hash tag
   * @throws InvalidKeyError if the key is invalid, or has braces but no hash tag
   */
  sameSlotAs(key: string): TaggedKeys {
    const [, tag] = /^[^{]*\{([^}]+)\}/.exec(checked(key, 'key')) ?? [];
    if (tag === undefined && /[{}]/.test(key)) {
      throw new InvalidKeyError(
        `The key is ${shown(key)}, which has braces, but no hash tag. Expected a hash tag, as in "orders:{eu}", so that other keys can share its slot.`,
      );
    }
    return new TaggedKeys(`${this.base}:{${tag ?? key}}`);
  }
}
