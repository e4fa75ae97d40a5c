import type { ScriptRegistry } from 'luanest/script-registry';
import type { NamedRule } from './rules/rule';

/** State of a subject under a rule, for `luanest/console`. Instants are ms since 1970 by Redis' clock. */
export interface SubjectLook {
  readonly rule: NamedRule;
  /** Hits that count now. */
  readonly used: number;
  /** Hits that are still allowed now, 0 while the subject is blocked; undefined if the rule's `limit` is a function. */
  readonly remaining: number | undefined;
  readonly blocked: boolean;
  /** When the block ends, or when no hit counts any more; 0 without block and hits. */
  readonly endsAtMs: number;
}

/** A block that a key of Redis describes. */
export interface Block {
  /** Name of the rule. */
  readonly rule: string;
  /** The subject, or `sha256-` and its hash if it is long or not well-formed Unicode. */
  readonly subject: string;
  /** True if `subject` is a hash. */
  readonly hashed: boolean;
  /** When the block ends or has ended, ms since 1970. */
  readonly endsAtMs: number;
  /** Number of the subject's blocks that make the next one longer, with this one unless `RateLimitService.block` made it. */
  readonly strikes: number;
}

/** Refusals of a rule by this process since it started. */
export interface Refusals {
  readonly count: number;
  /** When the last one was, ms since 1970; 0 without one. */
  readonly lastAtMs: number;
}

/** The view of RateLimitService that `luanest/console` needs. */
export interface RateLimitConsole {
  /** Undefined if the counters are not in Redis. */
  readonly registry: ScriptRegistry | undefined;
  /** Rules of the module, and the first 1,000 rules that the app passed to calls. */
  rules(): readonly NamedRule[];
  refusals(rule: string): Refusals;
  /** Reads, counts nothing, and does not use a cached refusal. @throws the errors of ScriptRegistry.run() */
  look(rules: readonly NamedRule[], subject: string): Promise<readonly SubjectLook[]>;
  /** Returns the block that a key of Redis describes; undefined for any other key or value. */
  blockOf(key: string, value: string | null): Block | undefined;
  /** Deletes as `RateLimitService.reset` does. */
  reset(rule: NamedRule, subject: string): Promise<boolean>;
  /** Blocks as `RateLimitService.block` does. @throws InvalidInputError */
  block(rule: NamedRule, subject: string, blockMs: number): Promise<void>;
}

/** Reads a key of a penalty, with its value. Returns undefined for any other key or value. */
export function blockOf(key: string, value: string | null): Block | undefined {
  const [, rule = '', subject = ''] = (/\}:penalty:([^:]+):([^:]+)$/.exec(key) ?? []).map(unescaped);
  const [, endsAtMs, strikes] = /^(\d+):(\d+)$/.exec(value ?? '') ?? [];
  if (subject === '' || endsAtMs === undefined) return undefined;
  const hashed = /^sha256-[0-9a-f]{64}$/.test(subject);
  return { rule, subject, hashed, endsAtMs: Number(endsAtMs), strikes: Number(strikes) };
}

/** Returns what KeySpace made the segment of a key of. */
function unescaped(segment: string): string {
  return segment.replace(/%(25|7B|7D|3A)/g, (escaped) => decodeURIComponent(escaped));
}
