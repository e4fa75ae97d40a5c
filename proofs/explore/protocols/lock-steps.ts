import { KeySpace } from 'luanest/script-registry';
import { leave, LockCalls, type AcquireReply } from '../../../libs/lock/src/locks/acquirer';
import { TURN_MS, type Ticket } from '../../../libs/lock/src/locks/wait-queue';
import { forceUnlock } from '../../../libs/lock/src/lock.scripts';
import type { Actors, Budgets, Move, ScriptCall, Step } from '../engine/protocol';
import { callOf, type World } from '../engine/world';

const LEASE_MS = 1_000;
const RETENTION_MS = 5_000;
const POLL_MS = 500;
const tag = new KeySpace('e', 'lock').tag('door');
export const KEYS = { lock: tag.key('lock'), queue: tag.key('queue') };

type Phase = 'idle' | 'asking' | 'waiting' | 'granted' | 'working' | 'cleaning' | 'leaving' | 'over';

export interface Process {
  phase: Phase;
  /** Acquisitions that it still wants. */
  rounds: number;
  renewals: number;
  /** Number of its owner token. The library makes one for each try; a try that took nothing left no trace, so it is used again. */
  token: number;
  fence: number;
  /** End of its lease by its own clock, ms since 1970. */
  until: number;
  /** Its ticket, as it last saw it: since when it waits, us; end of its validity, ms. Zeros: no ticket. */
  since: number;
  validUntil: number;
}

export interface LockState extends Actors {
  budgets: Budgets & { force?: number };
  processes: Record<string, Process>;
  /** Highest fence that Redis gave, to anyone. */
  highest: number;
}

export interface Settings {
  readonly scenario: string;
  readonly budgets: LockState['budgets'];
  /** For each process: what it does with a busy lock. */
  readonly processes: Readonly<Record<string, 'waits' | 'gives up' | 'skips'>>;
  readonly rounds?: number;
  readonly renewals?: number;
  readonly depth: number;
}

const TERMS = { leaseMs: LEASE_MS, deadlineMs: 1_000 };
const OPTIONS = { replicas: 0, replicasTimeoutMs: 0, fenceRetentionMs: RETENTION_MS };

function callsOf(name: string, token: number, make: (calls: LockCalls) => unknown): ScriptCall {
  return callOf((registry) => make(new LockCalls(registry, OPTIONS, 'explored', KEYS, `${name}#${token}`)));
}

/** Notes a grant, and checks that its fence is higher than all before, and that it was this process' turn. */
export function grant(state: LockState, name: string, { fence }: AcquireReply, world: World): void {
  const process = state.processes[name] as Process;
  if (fence <= state.highest) state.wrong = `${name} got fence ${fence}, but ${state.highest} was given before.`;
  const mine = process.validUntil > world.nowMs ? process.since : Infinity;
  const ahead = Object.keys(state.processes).find((other) => {
    const ticket = ticketOf(ticketName(other, state), world);
    return other !== name && ticket.validUntil > world.nowMs && ticket.since < mine;
  });
  if (ahead !== undefined && !state.disturbed) state.wrong = `${name} got the lock, but ${ahead} has waited longer.`;
  state.highest = Math.max(state.highest, fence);
  Object.assign(process, { phase: 'granted', fence, until: world.nowMs + LEASE_MS, since: 0, validUntil: 0 });
}

/** The library makes a ticket when a process begins to wait, and its next wait has another one. */
function ticketName(name: string, { processes }: LockState): string {
  return `${name}.${processes[name]?.rounds}`;
}

function ticketOf(name: string, world: World): { since: number; validUntil: number } {
  const ticket = (world.read('HGET', KEYS.queue, name) ?? '') as string;
  return { since: Number(ticket.slice(0, 16)), validUntil: Number(ticket.slice(16)) };
}

function endRound(process: Process): void {
  process.rounds--;
  Object.assign(process, {
    phase: process.rounds > 0 ? 'idle' : 'over',
    token: process.token + 1,
    since: 0,
    validUntil: 0,
    fence: 0,
    until: 0,
  });
}

type Done = Step<LockState>['done'];

export function stepsOf(state: LockState, settings: Settings): Step<LockState>[] {
  return Object.entries(state.processes).flatMap(([actor, process]): Step<LockState>[] => {
    const { phase, token, renewals } = process;
    const me = (next: LockState): Process => next.processes[actor] as Process;
    const ticket = ticketName(actor, state);
    const over = (next: LockState): void => endRound(me(next));
    /** The reply was lost: the library releases what it may have taken. */
    const lost = (next: LockState): void => void (me(next).phase = 'cleaning');
    const step = (name: string, call: ScriptCall | undefined, done: Done, onLost?: Step<LockState>['lost']) => ({
      actor,
      name,
      call,
      done,
      lost: onLost,
    });
    const calls = (make: (calls: LockCalls) => unknown): ScriptCall => callsOf(actor, token, make);
    const acquire = (
      name: string,
      ticket: Ticket | undefined,
      refused: (next: LockState, reply: AcquireReply, world: World) => void,
    ) =>
      step(
        name,
        calls((one) => one.acquire({ ...TERMS, ticket })),
        (next, reply: AcquireReply, world) =>
          reply.leftMs === 0 ? grant(next, actor, reply, world) : refused(next, reply, world),
        lost,
      );
    switch (phase) {
      case 'idle':
        return [
          acquire('acquire', undefined, (next, { leftMs }) => {
            if (settings.processes[actor] !== 'skips') me(next).phase = 'waiting';
            else if (leftMs < 0) me(next).phase = 'asking';
            else over(next);
          }),
        ];
      case 'asking':
        return [acquire('acquire unless others wait', { ticket: '-', countsMs: 0, turnMs: TURN_MS }, over)];
      case 'waiting':
        return [
          acquire('wait', { ticket, countsMs: 2 * POLL_MS + 1_000, turnMs: TURN_MS }, (next, _reply, world) => {
            Object.assign(me(next), ticketOf(ticket, world));
          }),
        ];
      case 'granted':
        // The library uses a lease only if it has not ended by the clock of the process when the reply arrives.
        return [
          step('get the reply', undefined, (next, _reply, world) => {
            me(next).phase = world.nowMs < me(next).until ? 'working' : 'cleaning';
          }),
        ];
      case 'cleaning':
        return [
          step(
            'release what it may have',
            calls((one) => one.release()),
            (next) => {
              if (settings.processes[actor] === 'skips') over(next);
              else me(next).phase = 'leaving';
            },
          ),
        ];
      case 'leaving':
        return [
          step(
            'leave the queue',
            callOf((registry) => leave(registry, KEYS, ticket)),
            over,
            over,
          ),
        ];
      case 'working': {
        const release = step(
          'release',
          calls((one) => one.release()),
          over,
          over,
        );
        const used = (next: LockState): void => void me(next).renewals--;
        const renew = (next: LockState, held: boolean, world: World): void => {
          used(next);
          me(next).until = held ? world.nowMs + LEASE_MS : 0;
        };
        const alive = renewals > 0 && process.until > 0;
        return alive
          ? [
              release,
              step(
                'renew',
                calls((one) => one.renew(LEASE_MS, 500)),
                renew,
                used,
              ),
            ]
          : [release];
      }
      case 'over':
        return [];
    }
  });
}

/** Moves that nobody has to make: a process stops waiting, and the operator takes the lock from its holder. */
export function movesOf(state: LockState, settings: Settings): Move<LockState>[] {
  const moves = Object.entries(state.processes)
    .filter(([name, { phase, since }]) => phase === 'waiting' && since > 0 && settings.processes[name] === 'gives up')
    .map(([name]): Move<LockState> => ({
      name: `${name} gives up`,
      run: (_world, next) => void ((next.processes[name] as Process).phase = 'leaving'),
    }));
  if ((state.budgets.force ?? 0) === 0) return moves;
  const force = (world: World, next: LockState): void => {
    next.budgets.force = 0;
    next.disturbed = true;
    const input = { keys: { lock: KEYS.lock }, args: { retentionMs: RETENTION_MS } };
    const { fence } = world.call<{ fence: number }>({ script: forceUnlock, input });
    if (fence <= next.highest) next.wrong = `The forced fence is ${fence}, but ${next.highest} was given before.`;
    next.highest = Math.max(next.highest, fence);
  };
  return [...moves, { name: 'the operator forces the lock open', run: force }];
}
