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

/** Escapes braces, which would open or end a hash tag, and `%`, so that two subjects never give the same tag. */
function escapeTag(subject: string): string {
  if (!/[%{}]/.test(subject)) return subject;
  return subject.replace(/[%{}]/g, (char) => (char === '%' ? '%25' : char === '{' ? '%7B' : '%7D'));
}

/** Escapes as `escapeTag` does, and also colons, so that `a:b` + `c` and `a` + `b:c` give different keys. */
function escapeSegment(segment: string): string {
  return segment.includes(':') ? escapeTag(segment).replaceAll(':', '%3A') : escapeTag(segment);
}

/** Builder of one subject's keys. All have the same hash tag, so one call may use them together on a Cluster. */
export class TaggedKeys {
  constructor(private readonly base: string) {}

  /**
   * Builds the key `<prefix>:<lib>:{<tag>}:<name>[:<segment>...]`.
   *
   * @param name of the content; kebab-case
   * @param segments further parts, each any text of 1 to 1,024 well-formed characters
   * @throws InvalidKeyError for an invalid name or segment
   */
  key(name: string, ...segments: readonly string[]): string {
    if (!SEGMENT.test(name)) throw new InvalidKeyError(`The key name is ${shown(name)}. Expected kebab-case.`);
    let key = `${this.base}:${name}`;
    for (const segment of segments) key += `:${escapeSegment(checked(segment, 'key segment'))}`;
    return key;
  }

  /**
   * Builds many keys that differ only in their last segment; their common part is built once.
   *
   * @returns a function from the last segment to `key(name, ...segments, last)`
   * @throws InvalidKeyError for an invalid name or segment; so does the returned function
   */
  series(name: string, ...segments: readonly string[]): (last: string) => string {
    const start = this.key(name, ...segments);
    return (last) => `${start}:${escapeSegment(checked(last, 'key segment'))}`;
  }
}

/** Builder of one lib's keys under one prefix. Braces in a subject can neither move nor break the hash tag. */
export class KeySpace {
  private readonly base: string;

  /**
   * @param prefix first part of every key; text without braces
   * @param lib second part; kebab-case
   * @throws InvalidKeyError for an invalid prefix or lib
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
   * Starts the keys of a subject, which becomes their hash tag.
   *
   * @param subject any text of 1 to 1,024 well-formed characters
   * @throws InvalidKeyError for an invalid subject
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
