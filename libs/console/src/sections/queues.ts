import type { DelayedTaskService } from 'luanest/delayed-task';
import { CONSOLE } from '../../../internal/src';
import type { Action, Listing, Match, Row, Section, SectionFactory, Story } from '../console.types';
import { columns } from './columns';
import { parseFilter } from './filters';
import { queueActions } from './queue-actions';
import {
  addressOfQueue,
  addressOfTask,
  sentencesOfQueue,
  totalOf,
  whyOf,
  type Queue,
  type QueueLook,
  type Task,
} from './queue-sentences';
import { at, lasts, link, unknownAddress } from './support';
import { say } from './sentences';

export const QUEUE_LISTS = {
  queues: [],
  tasks: ['waiting', 'running', 'dead', 'queue:', 'name:', 'group:'],
  dead: ['queue:', 'name:', 'group:'],
  schedules: ['queue:'],
  leases: ['queue:'],
  groups: ['queue:'],
} as const;

const ACTIONS: readonly Action[] = [
  { name: 'retry', danger: false, on: 'both', lists: ['dead'] },
  { name: 'run-now', danger: false, on: 'one' },
  { name: 'move', danger: false, on: 'one', input: [{ name: 'atMs', kind: 'instant', required: true }] },
  { name: 'cancel', danger: true, on: 'both', lists: ['tasks'] },
  { name: 'drop', danger: true, on: 'both', lists: ['dead'] },
  { name: 'remove', danger: true, on: 'one' },
  { name: 'pause', danger: false, on: 'one' },
  { name: 'resume', danger: false, on: 'one' },
];

const COLUMNS = {
  queues: columns(
    'queue:link waiting:number overdue:number running:number dead:number lateMs:duration paused workers:number',
  ),
  tasks: columns(
    'id:link queue state name group atMs:instant attemptsMade:number attempts:number error payload:payload',
  ),
  schedules: columns('id:link queue rule name group nextRunAtMs:instant payload:payload'),
  leases: columns(
    'id:link queue name group worker attempt:number attempts:number runAtMs:instant leaseEndsAtMs:instant',
  ),
  groups: columns('group:link queue paused'),
  partitions: columns(
    'partition:number waiting:number overdue:number running:number dead:number lateMs:duration workers:number',
  ),
} as const;

/** Maximum number of rows that a lib returns in one page. */
const MOST_ROWS = 256;

/** Section of the queues of delayed tasks. It shows why a task waits, why a queue is late, and which action helps. */
export const queuesSection: SectionFactory = (app, context) => {
  const service = app.find('DelayedTaskService') as DelayedTaskService | undefined;
  if (service === undefined) return undefined;
  const all = service[CONSOLE]();
  const named = (name: string | undefined): Queue | undefined => all.find((queue) => queue.name === name);

  const section: Section = {
    name: 'queues',
    lists: Object.entries(QUEUE_LISTS).map(([name, filters]) => ({ name, filters })),
    actions: ACTIONS,

    async summary() {
      const looks = await Promise.all(all.map(async (queue) => ({ queue, look: await queue.look() })));
      const totals = looks.map(({ look }) => totalOf(look));
      const sum = (of: (total: (typeof totals)[number]) => number): number =>
        totals.reduce((count, total) => count + of(total), 0);
      const sentences = looks.flatMap(({ queue, look }) => sentencesOfQueue(queue.name, look));
      return {
        figures: [
          { name: 'queues', value: all.length, address: ['queues', 'queues'] },
          { name: 'waiting', value: sum(({ waiting }) => waiting), address: ['queues', 'tasks'] },
          { name: 'overdue', value: sum(({ overdue }) => overdue), address: ['queues', 'tasks'] },
          { name: 'running', value: sum(({ running }) => running), address: ['queues', 'leases'] },
          { name: 'dead', value: sum(({ dead }) => dead), address: ['queues', 'dead'] },
          { name: 'lateMs', value: { ms: Math.max(...totals.map(({ lateMs }) => lateMs)) } },
        ],
        sentences: sentences.filter(({ level }, _, { length }) => level !== 'ok' || length === 1),
      };
    },

    async list(address, { filter, cursor, limit }) {
      const [, list = '', of, part] = address;
      if (list === 'queues' && part === 'partitions' && address.length === 4) {
        return partitionsOf(await (named(of) ?? unknownAddress(address)).look());
      }
      if (!(list in QUEUE_LISTS) || address.length > 3) return unknownAddress(address);
      const { state = 'waiting', ...by } = parseFilter(filter, QUEUE_LISTS[list as keyof typeof QUEUE_LISTS]);
      const chosen = of ?? by.queue;
      const queues = chosen === undefined ? all : all.filter(({ name }) => name === chosen);
      const most = Math.min(limit, MOST_ROWS);
      if (list === 'queues') return queueRows(queues);
      if (list === 'groups') return groupRows(queues);
      return pageOf(queues, list, cursor, most, (queue, count, from) =>
        rowsOf(list, queue, { state, ...by }, count, from),
      );
    },

    async show(address) {
      const [, list, name, id] = address;
      const queue = named(name);
      if (queue === undefined) return undefined;
      if (list === 'queues' && id === undefined) return storyOfQueue(queue);
      if (id === undefined || address.length !== 4) return undefined;
      if (list === 'groups') return storyOfGroup(queue, id);
      if (list === 'schedules') return storyOfSchedule(queue, id);
      return list === 'tasks' || list === 'dead' || list === 'leases' ? storyOfTask(queue, id) : undefined;
    },

    async find(id) {
      const found = await Promise.all(all.map((queue) => matchesIn(queue, id)));
      return found.flat();
    },

    ...queueActions(all, ACTIONS, context),
  };
  return section;

  async function rowsOf(
    list: string,
    queue: Queue,
    { state, name, group }: { state: string; name?: string; group?: string },
    limit: number,
    cursor: string | undefined,
  ): Promise<{ rows: Row[]; nextCursor?: string }> {
    const page = { limit, ...(cursor !== undefined && { cursor }) };
    if (list === 'leases') {
      const { items, nextCursor } = await queue.leases(limit, cursor);
      const rows = items.map((task) => ({
        address: addressOfTask(queue.name, task.id),
        cells: [
          link(addressOfTask(queue.name, task.id)),
          ...[queue.name, task.name, task.group ?? null, task.worker, task.attempt, task.attempts],
          ...[at(task.runAtMs), at(task.leaseEndsAtMs)],
        ],
        ...(task.leaseEndsAtMs < context.nowMs() && { level: 'warning' as const }),
      }));
      return { rows, ...(nextCursor !== undefined && { nextCursor }) };
    }
    if (list === 'schedules') {
      const { items, nextCursor } = await queue.queue.listSchedules(page);
      const rows = items.map(({ id, rule, name, group, payload, nextRunAtMs }) => {
        const address = ['queues', 'schedules', queue.name, id];
        const of = [queue.name, textOfRule(rule), name, group ?? null];
        return { address, cells: [link(address), ...of, at(nextRunAtMs), context.payload(payload)] };
      });
      return { rows, ...(nextCursor !== undefined && { nextCursor }) };
    }
    const { items, nextCursor } = await queue.queue.list({
      state: list === 'dead' ? 'dead' : (state as 'waiting'),
      ...(name !== undefined && { name }),
      ...(group !== undefined && { group }),
      ...page,
    });
    return { rows: items.map((task) => rowOfTask(queue, task)), ...(nextCursor !== undefined && { nextCursor }) };
  }

  function rowOfTask(queue: Queue, task: Task): Row {
    const { id, state, name, group, atMs, attemptsMade, attempts, error, payload } = task;
    const address = addressOfTask(queue.name, id);
    const isLate = state !== 'dead' && atMs < context.nowMs() - 5_000;
    const level = state === 'dead' ? 'error' : isLate ? 'warning' : undefined;
    const of = [queue.name, state, name, group ?? null, at(atMs), attemptsMade, attempts, error];
    return { address, cells: [link(address), ...of, context.payload(payload)], ...(level && { level }) };
  }

  async function queueRows(queues: readonly Queue[]): Promise<Listing> {
    const looks = await Promise.all(queues.map((queue) => queue.look()));
    const rows = looks.map((look, i): Row => {
      const { name } = queues[i] as Queue;
      const { waiting, overdue, running, dead, lateMs, workers } = totalOf(look);
      const level = sentencesOfQueue(name, look)[0]?.level ?? 'ok';
      const address = addressOfQueue(name);
      const counts = [waiting, overdue, running, dead, lasts(lateMs), look.paused, workers < 0 ? null : workers];
      return { address, cells: [link(address), ...counts], ...(level !== 'ok' && { level }) };
    });
    return { columns: COLUMNS.queues, rows, total: rows.length };
  }

  async function groupRows(queues: readonly Queue[]): Promise<Listing> {
    const looks = await Promise.all(queues.map((queue) => queue.look()));
    const rows = looks.flatMap(({ partitions }, i) => {
      const { name } = queues[i] as Queue;
      const groups = [...new Set(partitions.flatMap(({ pausedGroups }) => pausedGroups))].sort();
      return groups.map((group): Row => {
        const address = ['queues', 'groups', name, group];
        return { address, cells: [link(address), name, true], level: 'warning' };
      });
    });
    return { columns: COLUMNS.groups, rows };
  }

  async function storyOfQueue(queue: Queue): Promise<Story> {
    const look = await queue.look();
    const { waiting, overdue, running, dead, ended, lateMs, workers } = totalOf(look);
    const { partitions, startLimit, groupLimits, leaseMs } = queue.options;
    return {
      title: queue.name,
      facts: [
        { name: 'paused', value: look.paused },
        { name: 'waiting', value: waiting },
        { name: 'overdue', value: overdue },
        { name: 'running', value: running },
        { name: 'leasesEnded', value: ended },
        { name: 'dead', value: dead },
        { name: 'lateMs', value: lasts(lateMs) },
        { name: 'workers', value: workers < 0 ? null : workers },
        { name: 'partitions', value: partitions },
        { name: 'leaseMs', value: lasts(leaseMs) },
        { name: 'startLimit', value: startLimit ? `${startLimit.limit} / ${startLimit.windowMs} ms` : null },
        { name: 'groupConcurrency', value: groupLimits?.concurrency ?? null },
      ],
      sentences: sentencesOfQueue(queue.name, look),
      lists: [{ name: 'partitions', listing: partitionsOf(look) }],
      actions: [look.paused ? 'resume' : 'pause'],
    };
  }

  async function storyOfGroup(queue: Queue, group: string): Promise<Story> {
    const { partitions } = await queue.look();
    const paused = partitions.some(({ pausedGroups }) => pausedGroups.includes(group));
    const { items } = await queue.queue.list({ state: 'waiting', group, limit: 20 });
    return {
      title: group,
      facts: [
        { name: 'queue', value: link(addressOfQueue(queue.name)) },
        { name: 'paused', value: paused },
      ],
      sentences: [
        paused
          ? say('group-paused', { group }, { action: 'resume', address: ['queues', 'groups', queue.name, group] })
          : say('group-not-paused', { group }),
      ],
      lists: [
        { name: 'tasks', listing: { columns: COLUMNS.tasks, rows: items.map((task) => rowOfTask(queue, task)) } },
      ],
      actions: [paused ? 'resume' : 'pause'],
    };
  }

  async function storyOfSchedule(queue: Queue, id: string): Promise<Story | undefined> {
    const schedule = await queue.queue.getSchedule(id);
    if (schedule === undefined) return undefined;
    const { rule, name, group, payload, nextRunAtMs } = schedule;
    const inMs = nextRunAtMs - context.nowMs();
    return {
      title: id,
      facts: [
        { name: 'queue', value: link(addressOfQueue(queue.name)) },
        { name: 'rule', value: textOfRule(rule) },
        { name: 'name', value: name },
        { name: 'group', value: group ?? null },
        { name: 'nextRunAtMs', value: at(nextRunAtMs) },
        { name: 'nextTask', value: link(addressOfTask(queue.name, `${id}@${nextRunAtMs}`)) },
        { name: 'payload', value: context.payload(payload) },
      ],
      sentences: [
        inMs >= -5_000 ? say('schedule-next', { inMs }) : say('schedule-late', { queue: queue.name, lateMs: -inMs }),
      ],
      actions: ['run-now', 'remove'],
    };
  }

  async function storyOfTask(queue: Queue, id: string): Promise<Story | undefined> {
    const found = await lookAtTask(queue, id);
    if (found === undefined) return undefined;
    const { task, explained, why } = found;
    const { state, name, group, atMs, attemptsMade, attempts, error, payload, progress, result } = task;
    const isLive = state === 'waiting' || state === 'running';
    const timeOf = { waiting: 'dueAtMs', running: 'leaseEndsAtMs', dead: 'diedAtMs', done: 'doneAtMs' } as const;
    return {
      title: id,
      facts: [
        { name: 'queue', value: link(addressOfQueue(queue.name)) },
        { name: 'state', value: state },
        { name: 'name', value: name || null },
        { name: 'group', value: group === undefined ? null : link(['queues', 'groups', queue.name, group]) },
        { name: timeOf[state], value: at(atMs) },
        ...(state === 'done'
          ? []
          : [
              { name: 'attemptsMade', value: attemptsMade },
              { name: 'attempts', value: attempts },
            ]),
        { name: 'error', value: error || null },
        ...(isLive && explained ? [{ name: 'partition', value: explained.partition }] : []),
        ...(state === 'waiting' && explained ? [{ name: 'ahead', value: explained.ahead }] : []),
        ...(state === 'running' && explained ? [{ name: 'worker', value: explained.worker }] : []),
        ...(state === 'done' ? [] : [{ name: 'payload', value: context.payload(payload) }]),
        ...(progress === undefined ? [] : [{ name: 'progress', value: context.payload(progress) }]),
        ...(result === undefined ? [] : [{ name: 'result', value: context.payload(result) }]),
      ],
      sentences: [why],
      actions: { waiting: ['run-now', 'move', 'cancel'], running: [], dead: ['retry', 'drop'], done: [] }[state],
    };
  }

  async function lookAtTask(queue: Queue, id: string) {
    const task = await queue.queue.get(id);
    if (task === undefined) return undefined;
    const isLive = task.state === 'waiting' || task.state === 'running';
    const explained = isLive ? await queue.explain(id) : undefined;
    return { task, explained, why: whyOf(queue, task, explained) };
  }

  async function matchesIn(queue: Queue, id: string): Promise<Match[]> {
    if (!isTaskId(id)) return [];
    const matches: Match[] = [];
    const [found, schedule] = await Promise.all([
      lookAtTask(queue, id),
      id.length > 200 ? undefined : queue.queue.getSchedule(id),
    ]);
    if (found) {
      matches.push({ address: addressOfTask(queue.name, id), kind: 'task', title: id, sentence: found.why });
    }
    if (schedule) matches.push({ address: ['queues', 'schedules', queue.name, id], kind: 'schedule', title: id });
    return matches;
  }
};

/** Returns a page of a list. Reads the queues one after the other. The cursor is `<name of the queue>|<cursor in this queue>`. */
async function pageOf(
  queues: readonly Queue[],
  list: string,
  cursor: string | undefined,
  limit: number,
  read: (queue: Queue, limit: number, cursor: string | undefined) => Promise<{ rows: Row[]; nextCursor?: string }>,
): Promise<Listing> {
  const [first, ...rest] = cursor?.split('|') ?? [];
  let index = Math.max(
    0,
    queues.findIndex(({ name }) => name === first),
  );
  let from = first === undefined ? undefined : rest.join('|') || undefined;
  const rows: Row[] = [];
  const columns = COLUMNS[list === 'dead' ? 'tasks' : (list as 'tasks')];
  for (; index < queues.length; index++, from = undefined) {
    const queue = queues[index] as Queue;
    const page = await read(queue, limit - rows.length, from);
    rows.push(...page.rows);
    // The page ends here even if a filter left it short. So one request reads a limited number of tasks.
    if (page.nextCursor !== undefined) return { columns, rows, nextCursor: `${queue.name}|${page.nextCursor}` };
    const next = queues[index + 1];
    if (rows.length >= limit && next) return { columns, rows, nextCursor: `${next.name}|` };
  }
  return { columns, rows };
}

function partitionsOf({ partitions }: QueueLook): Listing {
  const rows = partitions.map(({ waiting, overdue, running, dead, lateMs, listeners }, index): Row => {
    const cells = [index, waiting, overdue, running, dead, lasts(lateMs), listeners < 0 ? null : listeners];
    return { cells, ...(lateMs > 5_000 && { level: 'warning' as const }) };
  });
  return { columns: COLUMNS.partitions, rows, total: rows.length };
}

function textOfRule(rule: { readonly cron?: string; readonly timeZone?: string; readonly everyMs?: number }): string {
  return rule.cron === undefined ? `every ${rule.everyMs} ms` : `${rule.cron} ${rule.timeZone ?? 'UTC'}`;
}

/** Returns true if a text can be the id of a task. */
function isTaskId(id: string): boolean {
  // eslint-disable-next-line no-control-regex
  return id !== '' && id.length <= 256 && id.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(id);
}
