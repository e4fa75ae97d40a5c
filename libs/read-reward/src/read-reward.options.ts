import { Checks, type KnownOptions, shown } from '../../internal/src';
import { CivilCalendar, type Period } from './civil-calendar';

/** Rule of a reward: how many items a period rewards, and when periods begin. */
export interface RewardRule {
  /** Maximum number of items that a period rewards; integer of 0 to 1,000,000. */
  readonly limit: number;
  /** Points for an item; integer of 1 to 1,000,000. Default 1. */
  readonly pointsPerItem?: number;
  /**
   * Maximum points that a user gets in a period; integer of 1 to 10^12. An item that would exceed this maximum gets only the points
   * that are left. Default: no maximum.
   */
  readonly capPoints?: number;
  /**
   * Length of a period. A period `total` has no fixed end: it ends when Redis drops the user's items, `retentionMs` after the last
   * grant. Default `day`.
   */
  readonly period?: Period;
  /** IANA time zone in which periods begin. A call may pass the zone of its user instead. Default `UTC`. */
  readonly timeZone?: string;
  /** Local time at which a day starts, `HH:MM` of 00:00 to 23:59. Default `00:00`. */
  readonly dayStartsAt?: string;
  /** First day of a week, from 1 (Monday) to 7 (Sunday). Default 1. */
  readonly weekStartsOn?: number;
  /**
   * When an item is rewarded again for the same user. `period`: in the next period. `ever`: only `retentionMs` after the user's last
   * grant. Default `period`.
   */
  readonly dedupe?: 'period' | 'ever';
  /**
   * For `period: 'total'` and `dedupe: 'ever'`: how long Redis keeps a user's items after the user's last grant, ms; integer of
   * 60,000 to 10 years. Default 365 days.
   */
  readonly retentionMs?: number;
}

/** Options of ReadRewardModule. */
export interface ReadRewardModuleOptions {
  /** Rules by name, at least one. Names are kebab-case, 1 to 64 characters. */
  readonly rules: Readonly<Record<string, RewardRule>>;
  /**
   * How long Redis keeps the first result of an operation id and the receipt of a refund, ms; integer of 1,000 to 10 years.
   * Default 86,400,000 (1 day).
   */
  readonly operationRetentionMs?: number;
  /**
   * How long Redis keeps a stream of the ledger after its last entry, ms; integer of 60,000 to 10 years. With this option, each grant and
   * each refund is also written to a ledger stream. Default: no ledger.
   */
  readonly ledgerRetentionMs?: number;
  /**
   * Number of hash tags over which users are sharded; integer of 1 to 1,024. Do not change it while periods run, or luanest would not find
   * the items that most users have read. Default 16.
   */
  readonly partitions?: number;
}

export interface ResolvedRewardRule extends Required<Omit<RewardRule, 'capPoints' | 'dayStartsAt'>> {
  readonly name: string;
  /** Maximum points of a period; 0 without a maximum. */
  readonly capPoints: number;
  readonly dayStartsAtMinutes: number;
  /**
   * True if the fast scripts `record` and `look` can handle the rule: its period is a day, week or month, `dedupe` is `period`, and all
   * items get the same points.
   */
  readonly isPlain: boolean;
  /** Maximum number of items per period that get all of `pointsPerItem`: `limit`, or fewer because of `capPoints`. */
  readonly maxItems: number;
}

export interface ResolvedReadRewardModuleOptions {
  readonly rules: ReadonlyMap<string, ResolvedRewardRule>;
  readonly operationRetentionMs: number;
  /** How long Redis keeps a stream of the ledger, ms; 0 without a ledger. */
  readonly ledgerMs: number;
  readonly partitions: number;
}

const DAY_MS = 86_400_000;
const MAX_MS = 3_650 * DAY_MS;
const KNOWN_OF_RULE: KnownOptions<RewardRule> = {
  limit: true,
  pointsPerItem: true,
  capPoints: true,
  period: true,
  timeZone: true,
  dayStartsAt: true,
  weekStartsOn: true,
  dedupe: true,
  retentionMs: true,
};
const KNOWN: KnownOptions<ReadRewardModuleOptions> = {
  rules: true,
  operationRetentionMs: true,
  ledgerRetentionMs: true,
  partitions: true,
};

const checks = new Checks('ReadRewardModule');

function minutes(rule: Checks, name: string, value: string): number {
  const match = typeof value === 'string' ? /^([01]\d|2[0-3]):([0-5]\d)$/.exec(value) : null;
  if (match !== null) return Number(match[1]) * 60 + Number(match[2]);
  return rule.refuse(name, value, 'a time of day, "00:00" to "23:59"');
}

function resolveRule(name: string, rule: RewardRule): ResolvedRewardRule {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) {
    throw checks.error(`rules has a rule named ${shown(name)}. Expected a kebab-case name of 1 to 64 characters.`);
  }
  checks.options(`rules.${name}`, rule, KNOWN_OF_RULE);
  const at = checks.in(`rules.${name}`);
  const resolved = {
    name,
    limit: at.integer('limit', rule.limit, 0, 1_000_000),
    pointsPerItem: at.integer('pointsPerItem', rule.pointsPerItem ?? 1, 1, 1_000_000),
    capPoints: rule.capPoints === undefined ? 0 : at.integer('capPoints', rule.capPoints, 1, 1e12),
    period: at.choice('period', rule.period ?? 'day', ['day', 'week', 'month', 'total']),
    timeZone: rule.timeZone ?? 'UTC',
    dayStartsAtMinutes: minutes(at, 'dayStartsAt', rule.dayStartsAt ?? '00:00'),
    weekStartsOn: at.integer('weekStartsOn', rule.weekStartsOn ?? 1, 1, 7),
    dedupe: at.choice('dedupe', rule.dedupe ?? 'period', ['period', 'ever']),
    retentionMs: at.integer('retentionMs', rule.retentionMs ?? 365 * DAY_MS, 60_000, MAX_MS),
  };
  const { limit, pointsPerItem, capPoints } = resolved;
  const isPlain = resolved.period !== 'total' && resolved.dedupe === 'period' && capPoints % pointsPerItem === 0;
  const maxItems = capPoints === 0 ? limit : Math.min(limit, Math.floor(capPoints / pointsPerItem));
  try {
    new CivilCalendar(resolved, resolved.timeZone);
  } catch {
    return at.refuse('timeZone', rule.timeZone, 'a zone of the IANA database, such as "Asia/Shanghai"');
  }
  return Object.freeze({ ...resolved, isPlain, maxItems });
}

export function resolveOptions(options: ReadRewardModuleOptions): ResolvedReadRewardModuleOptions {
  checks.options('', options, KNOWN);
  const { rules, ledgerRetentionMs } = options;
  if (typeof rules !== 'object' || rules === null || Object.keys(rules).length === 0) {
    checks.refuse('rules', rules, 'an object with at least one rule by name');
  }
  return Object.freeze({
    rules: new Map(Object.entries(rules).map(([name, rule]) => [name, resolveRule(name, rule)])),
    operationRetentionMs: checks.integer('operationRetentionMs', options.operationRetentionMs ?? DAY_MS, 1_000, MAX_MS),
    ledgerMs:
      ledgerRetentionMs === undefined ? 0 : checks.integer('ledgerRetentionMs', ledgerRetentionMs, 60_000, MAX_MS),
    partitions: checks.integer('partitions', options.partitions ?? 16, 1, 1_024),
  });
}
