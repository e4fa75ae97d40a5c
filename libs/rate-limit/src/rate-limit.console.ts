import type { ScriptRegistry } from 'luanest/script-registry';
import type { NamedRule } from './rules/rule';

/** State of a subject (the client or user that is counted) under a rule. Times are ms since 1970 by Redis' clock. */
export interface SubjectLook {
  readonly rule: NamedRule;
  /** Hits that count against the limit at present. */
  readonly used: number;
  /** Hits that are still allowed now, 0 while the subject is blocked; undefined if the rule's `limit` is a function. */
  readonly remaining: number | undefined;
  readonly blocked: boolean;
  /** When the block ends. Without a block: when the last hit expires; 0 if there are no hits. */
  readonly endsAtMs: number;
}

/** A block of a subject, as Redis stores it. */
export interface Block {
  /** Name of the rule. */
  readonly rule: string;
  /** The subject, or `sha256-` and its hash if it is long or not well-formed Unicode. */
  readonly subject: string;
  /** True if `subject` is a hash. */
  readonly hashed: boolean;
  /** End of the block, ms since 1970. It may be in the past. */
  readonly endsAtMs: number;
  /**
   * Number of blocks of the subject that Redis remembers, to make the next block longer. This block is included, unless
   * `RateLimitService.block` has started it.
   */
  readonly strikes: number;
}

/** How often a rule has refused in this process. */
export interface Refusals {
  readonly count: number;
  /** Time of the last refusal, ms since 1970; 0 if there was none. */
  readonly lastAtMs: number;
}

/** Reads and changes rate limits for `luanest/console`. */
export interface RateLimitConsole {
  /** ScriptRegistry whose Redis has the counters; undefined if they are not in Redis. */
  readonly registry: ScriptRegistry | undefined;
  /** Returns the rules of the module, and the rules that the app has passed to calls, up to 1,000 rules in all. */
  rules(): readonly NamedRule[];
  refusals(rule: string): Refusals;
  /**
   * Returns the state of a subject under rules, as Redis has it. Counts nothing.
   *
   * @throws the errors of ScriptRegistry.run()
   */
  look(rules: readonly NamedRule[], subject: string): Promise<readonly SubjectLook[]>;
  /** Returns the block that a key of Redis describes; undefined for any other key or value. */
  blockOf(key: string, value: string | null): Block | undefined;
  /** Resets a subject, as `RateLimitService.reset` does. */
  reset(rule: NamedRule, subject: string): Promise<boolean>;
  /** Blocks a subject, as `RateLimitService.block` does. @throws InvalidInputError */
  block(rule: NamedRule, subject: string, blockMs: number): Promise<void>;
}

/** Parses the Redis key of a block, and its value. Returns undefined for any other key or value. */
export function blockOf(key: string, value: string | null): Block | undefined {
  const [, rule = '', subject = ''] = (/\}:penalty:([^:]+):([^:]+)$/.exec(key) ?? []).map(unescaped);
  const [, endsAtMs, strikes] = /^(\d+):(\d+)$/.exec(value ?? '') ?? [];
  if (subject === '' || endsAtMs === undefined) return undefined;
  const hashed = /^sha256-[0-9a-f]{64}$/.test(subject);
  return { rule, subject, hashed, endsAtMs: Number(endsAtMs), strikes: Number(strikes) };
}

/** Returns the original text of a part of a Redis key, in which KeySpace has escaped the characters `%`, `{`, `}` and `:`. */
function unescaped(segment: string): string {
  return segment.replace(/%(25|7B|7D|3A)/g, (escaped) => decodeURIComponent(escaped));
}
