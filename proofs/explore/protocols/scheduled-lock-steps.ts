import { KeySpace } from 'luanest/script-registry';
import type { Mode } from '../../../libs/scheduled-lock/src/runs/claims';
import {
  claimRun,
  completeRun,
  renewRun,
  type ClaimReply,
} from '../../../libs/scheduled-lock/src/scheduled-lock.scripts';
import type { Actors, Budgets, ScriptCall, Step } from '../engine/protocol';
import { BEGIN_MS, type World } from '../engine/world';

const LEASE_MS = 600;
const RETENTION_MS = 10_000;
const STALE_MS = 900;
const CATCH_UP_MS = 1_600;
const AT_LEAST_MS = 100;
export const PERIOD_MS = 1_000;
const tag = new KeySpace('e', 'scheduled-lock').tag('app:job');
export const KEYS = { state: tag.key('state'), history: tag.key('history') };
const COMMON = { retentionMs: RETENTION_MS, keep: 3 };

export interface Node {
  phase: 'idle' | 'running' | 'giving back';
  /** Instants of its ticks that it has not had yet, ms since 1970. */
  ticks: number[];
  catchUps: number;
  owner: number;
  mode: Mode;
  /** Slot that its last claim got, or that an interval's tick asks for again; 0: none. */
  slot: number;
  fence: number;
  until: number;
  renewals: number;
}

/** State of a slot: `open` while one may still run, or died; `done` after its end was confirmed. */
type Slot = 'open' | 'done';

export interface JobState extends Actors {
  nodes: Record<string, Node>;
  slots: Record<string, Slot>;
  fence: number;
}

export interface Settings {
  readonly scenario: string;
  readonly budgets: Budgets;
  readonly nodes: readonly string[];
  /** Cron: each node ticks at each instant. Interval: each node ticks as often, at any time. */
  readonly kind: 'cron' | 'interval';
  readonly ticks: number;
  readonly catchUps?: number;
  readonly renewals?: number;
  readonly depth: number;
}

function claiming(actor: string, { owner, slot }: Node, mode: Mode, { kind }: Settings, tick: number): ScriptCall {
  const isInterval = kind === 'interval';
  const args = {
    ...COMMON,
    owner: `${actor}#${owner}`,
    node: actor,
    mode,
    slot: mode !== 'tick' ? 0 : isInterval ? slot : tick,
    periodMs: isInterval ? PERIOD_MS : 0,
    staleMs: mode === 'catch-up' ? CATCH_UP_MS : isInterval ? 0 : STALE_MS,
    leaseMs: LEASE_MS,
  };
  return { script: claimRun, input: { keys: KEYS, args } };
}

function completing(actor: string, { owner, slot, fence }: Node, status: string): ScriptCall {
  const isUsed = status !== 'redis-error';
  const used = { durationMs: isUsed ? 10 : 0, atLeastMs: isUsed ? AT_LEAST_MS : 0 };
  const args = { ...COMMON, ...used, owner: `${actor}#${owner}`, node: actor, status, slot, fence };
  return { script: completeRun, input: { keys: KEYS, args } };
}

/** A run begins: it is checked that no run of its slot has ended. */
export function begin(state: JobState, node: Node, { slot, fence }: ClaimReply, mode: Mode, world: World): void {
  if (!state.disturbed) {
    if (fence <= state.fence) state.wrong = `Fence ${fence} was given after ${state.fence}.`;
    if (mode !== 'free' && state.slots[slot] === 'done')
      state.wrong = `The slot ${slot - BEGIN_MS} runs again, after it was done.`;
  }
  state.fence = Math.max(state.fence, fence);
  if (mode !== 'free') state.slots[slot] = 'open';
  Object.assign(node, { phase: 'running', mode, slot, fence, until: world.nowMs + LEASE_MS });
}

function idleSteps(state: JobState, actor: string, node: Node, settings: Settings, world: World): Step<JobState>[] {
  const me = (next: JobState): Node => next.nodes[actor] as Node;
  const lost = (next: JobState): void => void (me(next).phase = 'giving back');
  const steps: Step<JobState>[] = [];
  const [tick] = node.ticks;
  if (tick !== undefined && tick <= world.nowMs) {
    const done = (next: JobState, reply: ClaimReply, to: World): void => {
      // The library tries again with its slot and its owner while the period lasts.
      if (reply.leftMs > 0) return void (me(next).slot = reply.slot);
      me(next).ticks.shift();
      if (reply.status === 'ran') begin(next, me(next), reply, 'tick', to);
      else Object.assign(me(next), { slot: 0, owner: node.owner + 1 });
    };
    const onLost = (next: JobState): void => {
      me(next).ticks.shift();
      lost(next);
    };
    const call = claiming(actor, node, 'tick', settings, tick);
    steps.push({ actor, name: `tick of ${tick - BEGIN_MS}`, call, done, lost: onLost });
  }
  if (node.catchUps > 0 && node.slot === 0) {
    const done = (next: JobState, reply: ClaimReply, to: World): void => {
      me(next).catchUps--;
      if (reply.status === 'ran') begin(next, me(next), reply, 'catch-up', to);
    };
    const onLost = (next: JobState): void => {
      me(next).catchUps--;
      lost(next);
    };
    steps.push({ actor, name: 'catch up', call: claiming(actor, node, 'catch-up', settings, 0), done, lost: onLost });
  }
  return steps;
}

export function stepsOf(state: JobState, settings: Settings, world: World): Step<JobState>[] {
  return Object.entries(state.nodes).flatMap(([actor, node]): Step<JobState>[] => {
    const me = (next: JobState): Node => next.nodes[actor] as Node;
    const idle = (next: JobState): void =>
      void Object.assign(me(next), { phase: 'idle', slot: 0, fence: 0, until: 0, owner: node.owner + 1 });
    if (node.phase === 'idle') return idleSteps(state, actor, node, settings, world);
    if (node.phase === 'giving back') {
      // Redis may have granted the claim. The slot must stay free for others.
      return [
        {
          actor,
          name: 'give back what it may have',
          call: completing(actor, node, 'redis-error'),
          done: idle,
          lost: idle,
        },
      ];
    }
    const ended = (status: string): Step<JobState> => ({
      actor,
      name: status === 'ran' ? 'complete' : 'end as lost',
      call: completing(actor, node, status),
      done: (next, released: 'released' | 'lost' | 'unknown') => {
        if (released === 'released' && status !== 'lost' && node.mode !== 'free') next.slots[node.slot] = 'done';
        idle(next);
      },
      lost: idle,
    });
    // A run whose lease ended by its own clock reports itself as lost.
    const steps = [ended(node.until > world.nowMs ? 'ran' : 'lost')];
    if (node.renewals > 0 && node.until > world.nowMs) {
      const args = { owner: `${actor}#${node.owner}`, leaseMs: LEASE_MS, retentionMs: RETENTION_MS };
      const done = (next: JobState, held: boolean, to: World): void => {
        me(next).renewals--;
        me(next).until = held ? to.nowMs + LEASE_MS : 0;
      };
      const call = { script: renewRun, input: { keys: { state: KEYS.state }, args } };
      steps.push({ actor, name: 'renew', call, done, lost: (next) => void me(next).renewals-- });
    }
    return steps;
  });
}
