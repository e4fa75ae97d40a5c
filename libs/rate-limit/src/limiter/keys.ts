import { createHash } from 'node:crypto';
import { type KeySpace } from 'luanest/script-registry';
import { evenTags, spread } from '../../../internal/src';
import type { NamedRule } from '../rules/rule';

const MAX_PLAIN_SUBJECT = 128;
const HASHED = 'sha256-';

/** A subject as part of a key: hostile ones, too long or no Unicode, by their hash, which no other subject can name. */
function plain(subject: string): string {
  if (subject.length <= MAX_PLAIN_SUBJECT && subject !== '' && !subject.startsWith(HASHED) && subject.isWellFormed()) {
    return subject;
  }
  return HASHED + createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex');
}

/** What a process keeps a subject of a rule under: bounded, whatever the subject, and no two alike. */
export function memoryId({ algorithm, name, windowMs }: NamedRule, subject: string): string {
  return `${algorithm}:${windowMs}:${name.length}:${name}:${plain(subject)}`;
}

/** The keys of one rule under one hash tag. */
interface RuleKeys {
  readonly state: (subject: string) => string;
  readonly penalty: (subject: string) => string;
}

/** Names the keys of rules and subjects: all rules of one subject share a hash tag, and tags lie evenly over slots. */
export class LimiterKeys {
  private readonly tags: readonly string[];
  private readonly rules = new WeakMap<NamedRule, (RuleKeys | undefined)[]>();
  private lastRule: NamedRule | undefined;
  private lastKeys: (RuleKeys | undefined)[] = [];

  /** @param count of hash tags, at least 1 */
  constructor(
    private readonly space: KeySpace,
    count: number,
  ) {
    this.tags = evenTags(count);
  }

  /** Which tag a subject has; checks of one tag may share a command. */
  tagOf(subject: string): number {
    return this.tags.length === 1 ? 0 : spread(subject) % this.tags.length;
  }

  /** The state of a subject under a rule. */
  state(rule: NamedRule, subject: string): string {
    return this.keysOf(rule, this.tagOf(subject)).state(plain(subject));
  }

  /** The penalty of a subject under a rule. */
  penalty(rule: NamedRule, subject: string): string {
    return this.keysOf(rule, this.tagOf(subject)).penalty(plain(subject));
  }

  private keysOf(rule: NamedRule, tag: number): RuleKeys {
    // Checks of one rule come in runs, and a look into a WeakMap is not free.
    if (rule !== this.lastRule) {
      let byTag = this.rules.get(rule);
      if (byTag === undefined) {
        byTag = new Array<RuleKeys | undefined>(this.tags.length).fill(undefined);
        this.rules.set(rule, byTag);
      }
      this.lastRule = rule;
      this.lastKeys = byTag;
    }
    return (this.lastKeys[tag] ??= this.makeKeys(rule, tag));
  }

  private makeKeys(rule: NamedRule, tag: number): RuleKeys {
    const tagged = this.space.tag(this.tags[tag] as string);
    // The window is part of it, or one of another length would end it: versions of an app may differ in it.
    const state = tagged.series(rule.algorithm, rule.name, String(rule.windowMs));
    return { state, penalty: tagged.series('penalty', rule.name) };
  }
}
