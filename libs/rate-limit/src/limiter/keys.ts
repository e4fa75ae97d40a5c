import { createHash } from 'node:crypto';
import { type KeySpace } from 'luanest/script-registry';
import { evenTags, spread } from '../../../internal/src';
import type { NamedRule } from '../rules/rule';

const MAX_PLAIN_SUBJECT = 128;
const HASHED = 'sha256-';

/**
 * Returns a subject as part of a key: as it is, or its hash if it is empty, too long or not well-formed Unicode. A subject
 * that looks like a hash is hashed too, so no two subjects share a key.
 */
function subjectPart(subject: string): string {
  if (subject.length <= MAX_PLAIN_SUBJECT && subject !== '' && !subject.startsWith(HASHED) && subject.isWellFormed()) {
    return subject;
  }
  return HASHED + createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex');
}

/** Returns the id of a rule and a subject in this process's memory: unique, and of bounded length. */
export function memoryId({ algorithm, name, windowMs }: NamedRule, subject: string): string {
  return `${algorithm}:${windowMs}:${name.length}:${name}:${subjectPart(subject)}`;
}

/** The keys of one rule under one hash tag. */
interface RuleKeys {
  readonly state: (subject: string) => string;
  readonly penalty: (subject: string) => string;
}

/** Builds the Redis keys of rules and subjects. All rules of a subject share a hash tag; the tags cover the slots evenly. */
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

  /** Returns the index of a subject's tag. Checks of one tag may share a command. */
  tagOf(subject: string): number {
    return this.tags.length === 1 ? 0 : spread(subject) % this.tags.length;
  }

  /** Returns the key of a subject's counter under a rule. */
  state(rule: NamedRule, subject: string): string {
    return this.keysOf(rule, this.tagOf(subject)).state(subjectPart(subject));
  }

  /** Returns the key of a subject's penalty under a rule. */
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
    // Two versions of an app may run with different windows. In one key, each would shorten the other's.
    // See DECISIONS.md: window-is-part-of-the-key
    const state = tagged.series(rule.algorithm, rule.name, String(rule.windowMs));
    return { state, penalty: tagged.series('penalty', rule.name) };
  }
}
