import { createHash } from 'node:crypto';
import { type KeySpace } from 'luanest/script-registry';
import { evenTags, spread } from '../../../internal/src';
import type { NamedRule } from '../rules/rule';
import { capacityOf } from './limiter.port';

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

/**
 * Makes the Redis keys of rules and subjects. All keys of a subject have the same hash tag, so one script can use them on a
 * Cluster. The hash tags are distributed evenly over the slots.
 */
export class LimiterKeys {
  readonly tags: readonly string[];
  private readonly rules = new WeakMap<NamedRule, RuleInRedis>();

  /** @param count number of hash tags, at least 1 */
  constructor(
    readonly space: KeySpace,
    count: number,
  ) {
    this.tags = evenTags(count);
  }

  /** Returns what the calls of a rule have in common, made at its first call. */
  of(rule: NamedRule): RuleInRedis {
    const known = this.rules.get(rule);
    if (known !== undefined) return known;
    const made = new RuleInRedis(rule, this);
    this.rules.set(rule, made);
    return made;
  }

  /** Returns the index of a subject's hash tag. Checks with the same index can be decided by one script. */
  tagOf(subject: string): number {
    return this.tags.length === 1 ? 0 : spread(subject) % this.tags.length;
  }

  state(rule: NamedRule, subject: string): string {
    return this.of(rule).state(subject);
  }

  penalty(rule: NamedRule, subject: string): string {
    return this.of(rule).penalty(subject);
  }
}

/** Parts of the calls of one rule that do not change. */
export class RuleInRedis {
  /**
   * Highest limit with which the scripts for fixed windows, which cost less than `consume`, can decide this rule; 0 if only
   * `consume` can. `consume-fixed-window` replies with the hits and the time in one number.
   * See DECISIONS.md: short-scripts-for-fixed-windows
   */
  readonly mostInWindow: number;
  private readonly states: ((subject: string) => string)[] = [];
  private readonly penalties: ((subject: string) => string)[] = [];
  private text = '';
  private textOf = -1;

  constructor(
    private readonly rule: NamedRule,
    private readonly keys: LimiterKeys,
  ) {
    const isPlain = rule.algorithm === 'fixed-window' && rule.blockMs === 0 && !rule.shadow;
    this.mostInWindow = isPlain ? Math.floor(Number.MAX_SAFE_INTEGER / (rule.windowMs + 1)) - 1 : 0;
  }

  /** Returns true if the scripts for fixed windows can decide a check of this rule. */
  fits(limit: number, cost: number): boolean {
    return cost > 0 && cost <= limit && limit <= this.mostInWindow;
  }

  /** Returns the key of a subject's counter. */
  state(subject: string): string {
    const { name, algorithm, windowMs } = this.rule;
    const tag = this.keys.tags.length === 1 ? 0 : this.keys.tagOf(subject);
    // The window is part of the key, because two versions of an app may run at the same time with different windows. With one
    // key, the version with the shorter window would shorten the windows of the other.
    // See DECISIONS.md: window-is-part-of-the-key
    const keyOf = (this.states[tag] ??= this.tagged(tag).series(algorithm, name, String(windowMs)));
    return keyOf(subjectPart(subject));
  }

  /** Returns the key of a subject's blocks. */
  penalty(subject: string): string {
    const tag = this.keys.tagOf(subject);
    const keyOf = (this.penalties[tag] ??= this.tagged(tag).series('penalty', this.rule.name));
    return keyOf(subjectPart(subject));
  }

  /** Returns the rule with a limit as text, in the format that consume.lua describes. */
  parameters(limit: number): string {
    if (limit !== this.textOf) {
      const { rule } = this;
      const mode = rule.shadow ? 'shadow' : rule.freshAfterBlock ? 'fresh' : '';
      const capacity = capacityOf({ rule, limit });
      this.text = [rule.algorithm, limit, rule.windowMs, capacity, mode, penaltyOf(rule)].join(':');
      this.textOf = limit;
    }
    return this.text;
  }

  private tagged(tag: number): ReturnType<KeySpace['tag']> {
    return this.keys.space.tag(this.keys.tags[tag] as string);
  }
}

function penaltyOf({ blockMs, maxBlockMs }: NamedRule): string {
  return blockMs === 0 ? '' : `${blockMs}:${maxBlockMs}`;
}
