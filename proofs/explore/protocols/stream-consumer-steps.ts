import { KeySpace, type ScriptDefinition } from 'luanest/script-registry';
import {
  acknowledge,
  finish,
  openGroup,
  renewSession,
  repairGroup,
  retryEntry,
  sweepSessions,
  takeEntries,
  takeOrdered,
} from '../../../libs/stream-consumer/src/consumer/consumer.scripts';
import type { TakeAnswer } from '../../../libs/stream-consumer/src/consumer/consumer.scripts';
import { Partition } from '../../../libs/stream-consumer/src/streams/partitions';
import { publishMessage, replayDead } from '../../../libs/stream-consumer/src/streams/streams.scripts';
import type { Move, ScriptCall, Step } from '../engine/protocol';
import type { World } from '../engine/world';
import { ATTEMPTS, type Consumer, type Held, type Settings, type StreamState } from './stream-consumer-state';

export const LEASE_MS = 1_000;
const RETRY_MS = 200;
export const partition = new Partition(new KeySpace('e', 'stream-consumer'), 's', 0);

/** Returns a call of a group's script. It gets all keys of the group, and uses those that it declares. */
function groupCall(script: ScriptDefinition, group: string, args: ScriptCall['input']['args']): ScriptCall {
  const needed = typeof args['needs'] === 'string' ? args['needs'].split(' ') : [];
  const keys = { ...partition.of(group), needed: needed.map((name) => partition.of(name).unsettled) };
  return { script, input: { keys, args } };
}

/** Returns the call by which a group is made, unless it exists. */
export function openCall(group: string): ScriptCall {
  return groupCall(openGroup, group, { group, makes: 1, from: '0' });
}

function publisherSteps({ toPublish }: StreamState): Step<StreamState>[] {
  const [message] = toPublish;
  if (message === undefined) return [];
  const { name, key } = message;
  const keys = { stream: partition.stream, woken: partition.woken, operation: partition.operation(name) };
  const args = { payload: `"${name}"`, key, name, retainMs: 60_000, maxLength: 0 };
  const done = (to: StreamState, { id }: { id: string }): void => {
    to.toPublish.shift();
    to.published[name] = id;
  };
  // After a lost reply the publisher publishes again, with the same operation.
  return [
    {
      actor: 'publisher',
      name: `publish ${name}`,
      call: { script: publishMessage, input: { keys, args } },
      done,
      lost: () => undefined,
    },
  ];
}

function sessionOf(actor: string, { life }: Consumer): string {
  return `${actor}${life}`;
}

export function newSession(consumer: Consumer): void {
  Object.assign(consumer, { life: consumer.life + 1, isNew: true, takes: 1, until: 0, held: [] });
}

function takeStep(actor: string, consumer: Consumer, settings: Settings): Step<StreamState> {
  const { group, takes, isNew } = consumer;
  const args = {
    group,
    session: sessionOf(actor, consumer),
    token: takes.toString(36),
    count: 2,
    leaseMs: LEASE_MS,
    begins: isNew ? 1 : 0,
  };
  const call = settings.ordered
    ? groupCall(takeOrdered, group, { ...args, maxKeys: 10 })
    : groupCall(takeEntries, group, args);
  const done = (to: StreamState, { state, entries }: TakeAnswer, world: World): void => {
    const me = to.consumers[actor] as Consumer;
    const until = (consumer.takingSince || world.nowMs) + LEASE_MS;
    me.takingSince = 0;
    if (state === 'no-group') return void (me.isOpen = false);
    if (state === 'lost') return newSession(me);
    Object.assign(me, { until, isNew: isNew && entries.length === 0, takes: entries.length > 0 ? takes + 1 : takes });
    for (const { id, key, attempt, firstSeenMs } of entries) {
      if (attempt > 0 && to.handled[group]?.includes(id) && !to.disturbed)
        to.wrong = `${group} gets ${id} again, which it has handled.`;
      me.held.push({ id, key, attempt, firstSeenMs, outcome: '' });
    }
  };
  const lost = (to: StreamState, world: World): void => {
    (to.consumers[actor] as Consumer).takingSince ||= world.nowMs;
  };
  return { actor, name: consumer.takingSince > 0 ? 'repeat the take' : 'take', call, done, lost };
}

/** The outcomes of an entry. A call whose reply was lost is repeated. */
function settleSteps(actor: string, consumer: Consumer, index: number, settings: Settings): Step<StreamState>[] {
  const { group } = consumer;
  const { id, key, attempt, firstSeenMs, outcome } = consumer.held[index] as Held;
  const session = sessionOf(actor, consumer);
  const needs = settings.groups.join(' ');
  const step = (what: Held['outcome'], call: ScriptCall): Step<StreamState> => ({
    actor,
    name: `${what} ${id
      .split('-')
      .map((part) => part.slice(-4))
      .join('-')}`,
    call,
    done: (to, reply: boolean | { alive: boolean }) => {
      const me = to.consumers[actor] as Consumer;
      if (typeof reply === 'boolean' ? !reply : !reply.alive) return newSession(me);
      me.held.splice(index, 1);
      if (what !== 'retry' && attempt > 0) to.handled[group]?.push(id);
    },
    lost: (to) => {
      ((to.consumers[actor] as Consumer).held[index] as Held).outcome = what;
      if (what !== 'retry' && !to.sent[group]?.includes(id)) to.sent[group]?.push(id);
    },
  });
  const finishing = (error: string): ScriptCall => {
    const rows = [id, key, error, String(attempt), String(firstSeenMs)];
    return groupCall(finish, group, { group, session, needs, rows });
  };
  const steps: Step<StreamState>[] = [];
  if (outcome === '' || outcome === 'handle') {
    const acking = groupCall(acknowledge, group, { group, session, needs, ids: [id] });
    steps.push(step('handle', settings.ordered ? finishing('') : acking));
  }
  if (attempt === 0 || settings.failures === false) return steps;
  if (attempt < ATTEMPTS && (outcome === '' || outcome === 'retry')) {
    const args = { group, session, id, attempt, counted: 1, firstSeenMs, delayMs: RETRY_MS, problem: 'no' };
    steps.push(step('retry', groupCall(retryEntry, group, args)));
  }
  if (attempt >= ATTEMPTS && (outcome === '' || outcome === 'dead-letter'))
    steps.push(step('dead-letter', finishing('no')));
  return steps;
}

function upkeepSteps(state: StreamState, group: string, world: World): Step<StreamState>[] {
  const steps: Step<StreamState>[] = [];
  if ((world.read('ZCOUNT', partition.of(group).sessions, '-inf', String(world.nowMs)) as number) > 0) {
    const call = groupCall(sweepSessions, group, { group, count: 10, problem: 'gone' });
    steps.push({ actor: group, name: 'sweep', call, done: () => undefined });
  }
  // Without faults, the repair runs periodically, without end.
  if ((state.budgets.repair ?? 1) > 0) {
    const done = (to: StreamState): void => {
      if (to.budgets.repair !== undefined) to.budgets.repair--;
    };
    for (const [actor, consumer] of Object.entries(state.consumers)) {
      if (consumer.group !== group || !consumer.isOpen) continue;
      const session = consumer.isNew || consumer.takingSince > 0 ? '' : sessionOf(actor, consumer);
      const own = { session, taken: consumer.takes, held: consumer.held.map(({ id }) => id) };
      const args = {
        group,
        leaseMs: LEASE_MS,
        count: 100,
        pending: '0-0',
        waiting: '-',
        parked: '',
        unsettled: '0',
        ...own,
      };
      steps.push({ actor, name: 'repair', call: groupCall(repairGroup, group, args), done });
    }
  }
  return steps;
}

export function stepsOf(state: StreamState, settings: Settings, world: World): Step<StreamState>[] {
  const steps = publisherSteps(state);
  for (const [actor, consumer] of Object.entries(state.consumers)) {
    const { group, held, isOpen, renewals } = consumer;
    if (!isOpen) {
      const done = (to: StreamState): void => void ((to.consumers[actor] as Consumer).isOpen = true);
      steps.push({ actor, name: `open ${group}`, call: openCall(group), done, lost: () => undefined });
      continue;
    }
    if (held.length === 0) steps.push(takeStep(actor, consumer, settings));
    for (let index = 0; index < held.length; index++) steps.push(...settleSteps(actor, consumer, index, settings));
    if (held.length > 0 && renewals > 0) {
      const args = { session: sessionOf(actor, consumer), leaseMs: LEASE_MS };
      const done = (to: StreamState, isAlive: boolean, now: World): void => {
        const me = to.consumers[actor] as Consumer;
        me.renewals--;
        if (isAlive) me.until = now.nowMs + LEASE_MS;
        else newSession(me);
      };
      steps.push({
        actor,
        name: 'renew',
        call: groupCall(renewSession, group, args),
        done,
        lost: (to) => void (to.consumers[actor] as Consumer).renewals--,
      });
    }
  }
  for (const group of settings.groups) {
    if (Object.values(state.consumers).some((one) => one.group === group && one.isOpen))
      steps.push(...upkeepSteps(state, group, world));
  }
  return steps;
}

/** A stranger trims the stream, and the operator replays dead letters. */
export function movesOf(state: StreamState, settings: Settings, world: World): Move<StreamState>[] {
  const moves: Move<StreamState>[] = [];
  if ((state.budgets.trim ?? 0) > 0 && world.db.get(partition.stream) !== undefined) {
    moves.push({
      name: 'a stranger trims the stream',
      run: (to, next) => {
        next.budgets.trim = 0;
        next.disturbed = true;
        to.command('XTRIM', partition.stream, 'MAXLEN', '0');
      },
    });
  }
  for (const group of (state.budgets.tidy ?? 0) > 0 ? settings.groups : []) {
    moves.push({
      name: `the operator deletes the consumers of ${group}`,
      run: (to, next) => {
        next.budgets.tidy = 0;
        const rows = to.command('XINFO', 'CONSUMERS', partition.stream, group) as string[][];
        for (const [, name = ''] of rows) to.command('XGROUP', 'DELCONSUMER', partition.stream, group, name);
      },
    });
  }
  for (const group of (state.budgets.replay ?? 0) > 0 ? settings.groups : []) {
    const rows = world.read('XRANGE', partition.of(group).dead, '-', '+') as [string][];
    if (rows.length === 0) continue;
    moves.push({
      name: `the operator replays the dead letters of ${group}`,
      run: (to, next) => {
        next.budgets.replay = 0;
        to.call(groupCall(replayDead, group, { group, ids: rows.map(([id]) => id) }));
      },
    });
  }
  return moves;
}
