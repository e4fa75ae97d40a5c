import { createHash } from 'node:crypto';
import { type KeySpace } from 'luanest/script-registry';
import { evenTags, spread } from '../../../internal/src';
import type { NamedRule } from '../rules/rule';

const MAX_PLAIN_SUBJECT = 128;
const HASHED = 'sha256-';

/**
 * Returns the part of a key that stands for a subject (the counted client or user). The part is the subject itself, or its
 * hash if the subject is empty, too long or not well-formed Unicode. A subject that looks like a hash is hashed, too, so no
 * two subjects have the same key.
 */
function subjectPart(subject: string): string {
  if (subject.length <= MAX_PLAIN_SUBJECT && subject !== '' && !subject.startsWith(HASHED) && subject.isWellFormed()) {
    return subject;
  }
  return HASHED + createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex');
}

/**
 * Returns an id for a rule and a subject, for maps in this process. Only rules that share counters have the same id for a subject.
 * Long subjects are hashed, so that the id stays short.
 */
export function memoryId({ algorithm, name, windowMs }: NamedRule, subject: string): string {
  return `${algorithm}:${windowMs}:${name.length}:${name}:${subjectPart(subject)}`;
}

interface RuleKeys {
  readonly state: (subject: string) => string;
  readonly penalty: (subject: string) => string;
}

/**
 * Makes the Redis keys of rules and subjects. All keys of a subject have the same hash tag, so one script can use them on a
 * Cluster. The hash tags are distributed evenly over the slots.
 */
export class LimiterKeys {
  private readonly tags: readonly string[];
  private readonly rules = new WeakMap<NamedRule, (RuleKeys | undefined)[]>();

  /** @param count number of hash tags, at least 1 */
  constructor(
    private readonly space: KeySpace,
    count: number,
  ) {
    this.tags = evenTags(count);
  }

  /** Returns the index of a subject's hash tag. Checks with the same index can be decided by one script. */
  tagOf(subject: string): number {
    return this.tags.length === 1 ? 0 : spread(subject) % this.tags.length;
  }

  state(rule: NamedRule, subject: string): string {
    return this.keysOf(rule, this.tagOf(subject)).state(subjectPart(subject));
  }

  penalty(rule: NamedRule, subject: string): string {
    return this.keysOf(rule, this.tagOf(subject)).penalty(subjectPart(subject));
  }

  private keysOf(rule: NamedRule, tag: number): RuleKeys {
    let byTag = this.rules.get(rule);
    if (byTag === undefined) {
      byTag = new Array<RuleKeys | undefined>(this.tags.length).fill(undefined);
      this.rules.set(rule, byTag);
    }
    return (byTag[tag] ??= this.makeKeys(rule, tag));
  }

  private makeKeys(rule: NamedRule, tag: number): RuleKeys {
    const tagged = this.space.tag(this.tags[tag] as string);
    // The window is part of the key, because two versions of an app may run at the same time with different windows. With one
    // key, the version with the shorter window would shorten the windows of the other.
    // See DECISIONS.md: window-is-part-of-the-key
    const state = tagged.series(rule.algorithm, rule.name, String(rule.windowMs));
    return { state, penalty: tagged.series('penalty', rule.name) };
  }
}
