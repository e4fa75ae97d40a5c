import type { ModuleMetadata } from '@nestjs/common';
import type * as Limits from '../../../libs/rate-limit/src';
import type { Fault } from '../engine/plan';
import type { Process } from '../engine/process';
import { nameOfScript } from '../engine/replays';
import type { Random } from '../engine/random';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { RedisError } from '../../../libs/memory-redis/src/reply';
import { codeOf } from './codes';

interface Settings {
  readonly algorithm: 'fixed-window' | 'sliding-window' | 'sliding-log' | 'token-bucket';
  readonly limit: number;
  readonly windowMs: number;
  readonly blockMs: number;
  readonly subjects: number;
  readonly onRedisError: 'allow' | 'deny' | 'local';
  readonly deadlineMs: number;
}

interface Operation {
  /** hurry: calls of another rule, which do not wait long for Redis. */
  readonly kind: 'consume' | 'hurry' | 'peek' | 'refund' | 'reset' | 'block';
  readonly subject: string;
  readonly cost: number;
  /** Calls that are made in one tick. */
  readonly calls: number;
  /** Limit of this call. */
  readonly limit?: number;
}

/** Hits that Redis has counted, as a call returned. */
interface Hit {
  readonly member: Member;
  readonly subject: string;
  readonly decision: Limits.RateLimitDecision;
  readonly cost: number;
  readonly beganUs: number;
  readonly repliedUs: number;
  /** Until this time of Redis at the latest do the hits count, ms. */
  readonly endsMs: number;
  refunds: number;
  /** True if the counter was deleted, or may have been, after the hits were counted. */
  wasReset: boolean;
  excused: boolean;
}

/** A refusal of Redis that a process keeps, so that it need not ask again. */
interface Refusal {
  readonly subject: string;
  readonly cost: number;
  readonly limit: number;
  readonly untilUs: number;
}

/** How many refusals a process keeps. See `engine/loader`. */
const KEPT = 2;

/** Checks the promises of the README of rate-limit. */
class LimitModel implements Model<Operation> {
  private readonly hits: Hit[] = [];
  /** Calls that may have counted hits, although none was returned. */
  private readonly unknown: { readonly subject: string; readonly atUs: number }[] = [];
  /** Calls of a subject that are in flight: they may have counted hits. */
  private readonly inFlight = new Map<string, number>();
  /** Calls of `reset` of a subject that are in flight: they may have deleted hits. */
  private readonly resetting = new Map<string, number>();
  /** When the last reset of a subject returned. */
  private readonly resetUs = new Map<string, number>();
  private clockWasSet = false;
  /** The last refusals of each process, of different subjects. */
  private readonly refusals = new Map<Process, Refusal[]>();
  /** When Redis ran the calls that count or reset a subject, us. */
  private readonly ran: {
    readonly script: string;
    readonly sender: string;
    readonly subject: string;
    readonly us: number;
  }[] = [];

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    for (const node of world.redis.nodes) {
      const { ran } = node;
      node.ran = (sender, words, reply) => {
        ran(sender, words, reply);
        const script = nameOfScript(words[1] ?? '') ?? '';
        if (reply instanceof RedisError) return;
        for (const key of words.slice(3, 3 + Number(words[2]))) {
          const subject = /:r:\d+:(.*)$/.exec(key)?.[1];
          if (subject !== undefined) this.ran.push({ script, sender, subject, us: world.nowUs });
        }
      };
    }
  }

  app(member: Member): ModuleMetadata {
    const { RateLimitModule, RateLimitEvents } = this.lib(member);
    const { onRedisError, deadlineMs } = this.options;
    const hurried = { name: 'q', algorithm: 'fixed-window' as const, limit: 10_000, windowMs: 1_000 };
    let openedUs = 0;
    member.process.channel(RateLimitEvents.breakerChanged).subscribe((event) => {
      const openMs = ((member.nowUs - openedUs) / 1_000) * Math.max(1, member.speed);
      const isRight = (event as Limits.RateLimitEvents['breakerChanged']).state === 'opened' || openMs >= 999;
      this.world.expect(isRight, () => `the breaker was open for only ${openMs} ms`);
      openedUs = member.nowUs;
    });
    return { imports: [RateLimitModule.forRoot({ onRedisError, deadlineMs, rules: [this.rule, hurried] })] };
  }

  disturbed(fault: Fault): void {
    if (fault.kind === 'redis-clock') this.clockWasSet = true;
    if (!['redis-clock', 'evict', 'failover'].includes(fault.kind)) return;
    for (const hit of this.hits) hit.excused = true;
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const { RateLimitService } = this.lib(member);
    const limits = member.app?.get(RateLimitService) as Limits.RateLimitService;
    const { kind, subject, calls } = operation;
    if (kind === 'hurry') {
      await Promise.all(Array.from({ length: 2 * calls }, () => limits.consume('q', subject)));
    } else if (kind === 'consume') {
      await Promise.all(Array.from({ length: calls }, () => this.consume(member, limits, operation)));
    } else if (kind === 'peek') await this.peek(member, limits, subject);
    else if (kind === 'refund') await this.refund(member, limits);
    else await this.forget(member, limits, operation);
  }

  private async peek(member: Member, limits: Limits.RateLimitService, subject: string): Promise<void> {
    const beganUs = member.nowUs;
    const decision = await limits.peek('r', subject);
    if (decision.allowed || decision.source !== 'redis') return;
    this.keep(member, decision, subject, 1, this.options.limit, beganUs);
  }

  private get rule(): Limits.RateLimitRule & { name: string } {
    const { algorithm, limit, windowMs, blockMs } = this.options;
    return { name: 'r', algorithm, limit, windowMs, ...(blockMs > 0 && { blockMs }) };
  }

  private lib(member: Member): typeof Limits {
    return member.load<typeof Limits>('luanest/rate-limit');
  }

  private async consume(
    member: Member,
    limits: Limits.RateLimitService,
    { subject, cost, limit }: Operation,
  ): Promise<void> {
    const { world } = this;
    const { stoppedUs } = member.process;
    const beganUs = member.nowUs;
    this.inFlight.set(subject, (this.inFlight.get(subject) ?? 0) + 1);
    const own = this.refusals.get(member.process)?.find((refusal) => refusal.subject === subject);
    const most = limit ?? this.options.limit;
    const isKept = own !== undefined && beganUs < own.untilUs && cost >= own.cost && most <= own.limit;
    const decision = await limits.consume('r', subject, { cost, ...(limit !== undefined && { limit }) });
    this.inFlight.set(subject, (this.inFlight.get(subject) as number) - 1);
    const { source, allowed, rules, reason } = decision;
    const repliedUs = member.nowUs;
    world.note(
      member.name,
      () => `${subject}, ${cost} of ${limit ?? this.options.limit}: ${allowed ? 'allowed' : reason} (${source})`,
    );
    const tookMs = (repliedUs - beganUs - (member.process.stoppedUs - stoppedUs)) / 1_000;
    const longest = this.options.deadlineMs + 150;
    world.expect(tookMs <= longest, () => `a decision took ${tookMs} ms, at most ${longest} is allowed`);
    // A process that was stopped in the call may have looked at its refusals later.
    const wasStopped = member.process.stoppedUs > stoppedUs;
    world.expect(
      !isKept || wasStopped || source === 'cache',
      () => `${source} was asked about ${subject}, which was just refused`,
    );
    if (!allowed && source === 'redis') this.keep(member, decision, subject, cost, most, beganUs);
    world.expect(
      !world.isCalm || source === 'redis' || source === 'cache',
      () => `nothing is wrong, but ${source} decided`,
    );
    if (source !== 'redis' && source !== 'cache') this.unknown.push({ subject, atUs: beganUs });
    if (!allowed && reason === 'over-limit') this.expectFull(decision, subject, cost, limit, beganUs);
    const [rule] = rules;
    if (!allowed || source !== 'redis' || rule === undefined || cost === 0) return;
    const endsMs = world.redis.nowMs + rule.resetMs;
    const hit = {
      member,
      subject,
      decision,
      cost,
      beganUs,
      repliedUs,
      endsMs,
      refunds: 0,
      wasReset: false,
      // A reset that returned during the call may have deleted the hits.
      excused: (this.resetUs.get(subject) ?? -1) >= beganUs,
    };
    this.hits.push(hit);
    if (limit === undefined && !this.resetting.get(subject) && !hit.excused) this.expectBound(hit);
  }

  /** "Refusals are cached", those that were refused last. */
  private keep(
    { process }: Member,
    { rules }: Limits.RateLimitDecision,
    subject: string,
    cost: number,
    limit: number,
    beganUs: number,
  ): void {
    const others = (this.refusals.get(process) ?? []).filter((refusal) => refusal.subject !== subject);
    const lastsMs = Math.min(rules[0]?.retryAfterMs ?? 0, this.options.windowMs, 5_000) - 2;
    const untilUs = beganUs + lastsMs * 1_000;
    this.refusals.set(process, [...others, { subject, cost, limit, untilUs }].slice(-KEPT));
  }

  /** A refusal that was dropped keeps its place until it is the oldest, since its process may drop it later, and evict another one before. */
  private dropRefusal({ process }: Member, subject: string): void {
    const all = this.refusals.get(process) ?? [];
    this.refusals.set(
      process,
      all.map((refusal) => (refusal.subject === subject ? { ...refusal, untilUs: 0 } : refusal)),
    );
  }

  /** "Each algorithm has an upper bound for the hits in any span of windowMs." */
  private expectBound({ subject, repliedUs }: Hit): void {
    const { algorithm, limit, windowMs } = this.options;
    const fromUs = repliedUs - windowMs * 1_000;
    const inSpan = this.hits.filter(
      (hit) => hit.subject === subject && hit.beganUs > fromUs && hit.repliedUs <= repliedUs && isCounted(hit),
    );
    // A copy of a call that deletes hits may be late, although the call has returned.
    const isDeleted = (script: string, us: number): boolean =>
      /^(reset|block)$/.test(script) && inSpan.some(({ beganUs }) => us >= beganUs);
    if (this.ran.some((call) => call.subject === subject && isDeleted(call.script, call.us))) return;
    const sum = inSpan.reduce((total, { cost }) => total + cost, 0);
    const most = algorithm === 'sliding-log' ? limit : 2 * limit;
    // The limit of a call may be higher than that of the rule.
    if (inSpan.some(({ decision }) => decision.rules[0]?.limit !== limit)) return;
    this.world.expect(
      sum <= most,
      () => `${subject} has ${sum} hits in ${windowMs} ms, at most ${most} (${algorithm})`,
    );
  }

  /** A request may be refused only if there were hits enough. */
  private expectFull(
    { rules, source }: Limits.RateLimitDecision,
    subject: string,
    cost: number,
    limit: number | undefined,
    nowUs: number,
  ): void {
    const { windowMs, algorithm } = this.options;
    const capacity = limit ?? this.options.limit;
    if (cost > capacity || rules[0]?.blocked || source === 'local' || this.clockWasSet) return;
    const spanUs = (algorithm === 'sliding-log' ? 1 : 2) * windowMs * 1_000 + 5_000;
    // A refusal that this process has cached was made before.
    const fromUs = nowUs - spanUs - (source === 'cache' ? windowMs * 1_000 : 0);
    if (this.unknown.some((call) => call.subject === subject) || this.world.had.size > 0) return;
    const known = this.hits.filter((hit) => hit.subject === subject && hit.repliedUs >= fromUs);
    const sum = known.reduce((total, hit) => total + hit.cost, 0);
    const isFull = sum + cost > capacity || (this.inFlight.get(subject) as number) > 0;
    this.world.expect(
      isFull,
      () => `${subject} is refused ${cost} of ${capacity} with ${sum} hits in twice the window (${source})`,
    );
  }

  /** "As far as they still count. The number may be too small, never too large. Only the first call refunds anything." */
  private async refund(member: Member, limits: Limits.RateLimitService): Promise<void> {
    const own = this.hits.filter((hit) => hit.member === member && hit.member.process === member.process);
    const hit = own.at(-1 - Math.floor(member.process.random.next() * Math.min(3, own.length)));
    if (hit === undefined) return;
    const { world } = this;
    const { cost, subject, endsMs, wasReset } = hit;
    const isOver = this.options.algorithm === 'fixed-window' && world.redis.nowMs > endsMs + 1;
    const isFirst = hit.refunds++ === 0;
    const wasBefore = this.wasCountedBeforeReset(hit);
    this.dropRefusal(member, subject);
    const refunded = await limits.refund(hit.decision).catch(codeOf);
    this.dropRefusal(member, subject);
    world.note(member.name, () => `refund of ${cost} of ${subject}: ${refunded}`);
    if (typeof refunded === 'string') return;
    const most = !isFirst || hit.excused ? 0 : cost;
    world.expect(refunded <= most || hit.excused, () => `${refunded} hits of ${subject} are refunded, at most ${most}`);
    world.expect(refunded === 0 || !isOver || hit.excused, () => `hits of ${subject} are refunded after their window`);
    // The counters of a sliding window do not know of a reset. So a refund may take hits that were counted after it.
    const knowsResets = this.options.algorithm !== 'sliding-window' && !this.mayShareWindow(hit);
    world.expect(
      refunded === 0 || !wasReset || !knowsResets || hit.excused,
      () => `hits of ${subject} are refunded after a reset`,
    );
    world.expect(
      refunded === 0 || !wasBefore || !knowsResets,
      () => `hits of ${subject} are refunded after a reset, which ran before the reply that they are counted`,
    );
  }

  /** A fixed window is known by the ms of its end. So the next one is the same if a reset and its first hit are in the same ms. */
  private mayShareWindow({ member, subject, beganUs, repliedUs }: Hit): boolean {
    if (this.options.algorithm !== 'fixed-window') return false;
    const msOf = (us: number): number => Math.floor(us / 1_000);
    const own = this.ran.filter((call) => call.subject === subject);
    const hasCounted = ({ script, sender, us }: (typeof own)[number]): boolean =>
      /^(consume|$)/.test(script) && sender === member.name && us >= beganUs && us <= repliedUs;
    const countedMs = new Set(own.filter(hasCounted).map(({ us }) => msOf(us)));
    return own.some(({ script, us }) => script === 'reset' && us > beganUs && countedMs.has(msOf(us)));
  }

  /** True if Redis has reset the subject since it counted the hits. */
  private wasCountedBeforeReset({ member, subject, beganUs, repliedUs }: Hit): boolean {
    if ((['redis-clock', 'evict', 'failover'] as const).some((kind) => this.world.had.has(kind))) return false;
    const own = this.ran.filter((call) => call.subject === subject);
    // The form of a script that runs several calls at once has no name here.
    const counted = own.filter(({ script, sender }) => /^(consume|$)/.test(script) && sender === member.name);
    const inCall = counted.filter(({ us }) => us >= beganUs && us <= repliedUs);
    // Of several calls at a time, nobody knows here which one counted which hits.
    const isIn = (hit: Hit): boolean => hit.beganUs <= repliedUs && hit.repliedUs >= beganUs;
    if (this.hits.filter((hit) => hit.member === member && hit.subject === subject && isIn(hit)).length > 1)
      return false;
    const lastUs = Math.max(...inCall.map(({ us }) => us));
    return inCall.length > 0 && own.some(({ script, us }) => script === 'reset' && us > lastUs);
  }

  private async forget(
    member: Member,
    limits: Limits.RateLimitService,
    { kind, subject, cost }: Operation,
  ): Promise<void> {
    const ended = kind === 'reset' ? limits.reset('r', subject) : limits.block('r', subject, 50 * (cost + 1));
    const before = this.hits.filter((hit) => hit.subject === subject);
    this.dropRefusal(member, subject);
    this.resetting.set(subject, (this.resetting.get(subject) ?? 0) + 1);
    const outcome = await ended.then(() => 'OK', codeOf);
    this.resetting.set(subject, (this.resetting.get(subject) as number) - 1);
    this.resetUs.set(subject, this.world.nowUs);
    this.dropRefusal(member, subject);
    // A late reset deletes later hits, too: they are left out of the bounds from now on.
    for (const hit of before) hit.wasReset ||= outcome === 'OK';
    for (const hit of this.hits) if (hit.subject === subject && !hit.wasReset) hit.excused = true;
  }
}

function isCounted({ refunds, wasReset, excused }: Hit): boolean {
  return refunds === 0 && !wasReset && !excused;
}

export const rateLimit: Lib<Settings, Operation> = {
  name: 'rate-limit',
  faults: {
    kill: 4,
    close: 3,
    stop: 8,
    cut: 20,
    slow: 8,
    hold: 6,
    refuse: 8,
    flush: 4,
    evict: 2,
    'redis-clock': 3,
    clock: 3,
    failover: 1,
    'redis-down': 3,
  },
  together: [['slow'], ['cut'], ['flush', 'refuse'], ['redis-clock']],
  settings: (random: Random) => ({
    algorithm: random.pick(['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket']),
    limit: random.magnitude(1, 12),
    windowMs: random.magnitude(20, 2_000),
    blockMs: random.chance(0.2) ? random.magnitude(10, 1_000) : 0,
    subjects: random.integer(1, 5),
    onRedisError: random.pick(['allow', 'deny', 'local']),
    deadlineMs: random.chance(0.3) ? 20 : random.magnitude(20, 500),
  }),
  operation: (random, { subjects, limit }) => ({
    kind: random.pick([
      'consume',
      'consume',
      'consume',
      'consume',
      'consume',
      'hurry',
      'refund',
      'refund',
      'reset',
      'block',
      'peek',
    ]),
    subject: `u${random.integer(1, subjects)}`,
    cost: random.chance(0.7) ? 1 : random.integer(0, limit + 1),
    calls: random.magnitude(1, 8),
    ...(random.chance(0.15) && { limit: random.magnitude(1, 30) }),
  }),
  scaleMs: ({ windowMs }) => windowMs,
  settleMs: () => 8_000,
  start: (world, settings) => new LimitModel(world, settings),
};

/** The part of it that gives hits back and deletes counters: one subject, and calls that come within a few ms of each other. */
export const limitResets: Lib<Settings, Operation> = {
  ...rateLimit,
  name: 'limit-resets',
  faults: { slow: 6, hold: 6, cut: 8, stop: 4, flush: 2, kill: 2, refuse: 3 },
  together: [['slow'], ['hold'], ['cut']],
  settings: (random) => ({
    ...rateLimit.settings(random),
    algorithm: random.pick(['fixed-window', 'fixed-window', 'sliding-log', 'token-bucket']),
    limit: random.integer(3, 12),
    windowMs: random.magnitude(20, 300),
    blockMs: 0,
    subjects: 1,
  }),
  operation: (random, settings) => ({
    ...rateLimit.operation(random, settings),
    kind: random.pick(['consume', 'consume', 'consume', 'refund', 'refund', 'reset']),
    cost: random.integer(1, 2),
    calls: random.integer(1, 2),
  }),
};
