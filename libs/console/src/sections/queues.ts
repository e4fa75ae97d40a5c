import type { DelayedTaskService } from 'luanest/delayed-task';
import { CONSOLE } from '../../../internal/src';
import type { Action, Listing, Match, Row, SectionFactory, Story } from '../console.types';
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
import { say } from './sentences';
import { link, pageOf, unknownAddress } from './support';
import { facts, table } from './table';

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

const QUEUES = table(
  'queue:link waiting:number overdue:number running:number dead:number lateMs:duration paused workers:number',
);
const TASKS = table(
  'id:link queue state name group atMs:instant attemptsMade:number attempts:number error payload:payload',
);
const SCHEDULES = table('id:link queue rule name group nextRunAtMs:instant payload:payload');
const LEASES = table(
  'id:link queue name group worker attempt:number attempts:number runAtMs:instant leaseEndsAtMs:instant',
);
const GROUPS = table('group:link queue paused');
const PARTITIONS = table(
  'partition:number waiting:number overdue:number running:number dead:number lateMs:duration workers:number',
);
const COLUMNS: Readonly<Record<string, Pick<Listing, 'columns'>>> = {
  tasks: TASKS,
  dead: TASKS,
  schedules: SCHEDULES,
  leases: LEASES,
};

/** Maximum number of rows that `luanest/delayed-task` returns in one page. */
const MOST_ROWS = 256;

/** Section of the queues of delayed tasks. It shows why a task waits, why a queue is late, and which action helps. */
export const queuesSection: SectionFactory = (app, context) => {
  const service = app.find('DelayedTaskService') as DelayedTaskService | undefined;
  if (service === undefined) return undefined;
  const all = service[CONSOLE]();
  const named = (name: string | undefined): Queue | undefined => all.find((queue) => queue.name === name);

  return {
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
      if (list === 'queues') return queueRows(queues);
      if (list === 'groups') return groupRows(queues);
      return pageOfQueues(queues, list, cursor, Math.min(limit, MOST_ROWS), (queue, count, from) =>
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

    ...queueActions(all, context),
  };
  async function rowsOf(
    list: string,
    queue: Queue,
    { state, name, group }: { state: string; name?: string; group?: string },
    limit: number,
    cursor: string | undefined,
  ): Promise<Listing> {
    const page = pageOf({ limit, cursor });
    if (list === 'leases') {
      const { items, nextCursor } = await queue.leases(limit, cursor);
      const rows = items.map((task) => {
        const isLate = task.leaseEndsAtMs < context.nowMs();
        return LEASES.row({ ...task, queue: queue.name }, addressOfTask(queue.name, task.id), isLate && 'warning');
      });
      return LEASES.page(rows, nextCursor);
    }
    if (list === 'schedules') {
      const { items, nextCursor } = await queue.queue.listSchedules(page);
      const rows = items.map(({ id, rule, name, group, payload, nextRunAtMs }) =>
        SCHEDULES.row(
          {
            id,
            queue: queue.name,
            rule: textOfRule(rule),
            name,
            group,
            nextRunAtMs,
            payload: context.payload(payload),
          },
          ['queues', 'schedules', queue.name, id],
        ),
      );
      return SCHEDULES.page(rows, nextCursor);
    }
    const { items, nextCursor } = await queue.queue.list({
      state: list === 'dead' ? 'dead' : (state as 'waiting'),
      ...(name !== undefined && { name }),
      ...(group !== undefined && { group }),
      ...page,
    });
    return TASKS.page(
      items.map((task) => rowOfTask(queue, task)),
      nextCursor,
    );
  }

  function rowOfTask(queue: Queue, task: Task): Row {
    const { id, state, name, group, atMs, attemptsMade, attempts, error, payload } = task;
    const isLate = state !== 'dead' && atMs < context.nowMs() - 5_000;
    return TASKS.row(
      {
        id,
        queue: queue.name,
        state,
        name,
        group,
        atMs,
        attemptsMade,
        attempts,
        error,
        payload: context.payload(payload),
      },
      addressOfTask(queue.name, id),
      state === 'dead' ? 'error' : isLate && 'warning',
    );
  }

  async function queueRows(queues: readonly Queue[]): Promise<Listing> {
    const looks = await Promise.all(queues.map((queue) => queue.look()));
    const rows = looks.map((look, i) => {
      const { name } = queues[i] as Queue;
      const total = totalOf(look);
      const values = { ...total, queue: name, paused: look.paused, workers: knownOf(total.workers) };
      return QUEUES.row(values, addressOfQueue(name), sentencesOfQueue(name, look)[0]?.level);
    });
    return QUEUES.all(rows);
  }

  async function groupRows(queues: readonly Queue[]): Promise<Listing> {
    const looks = await Promise.all(queues.map((queue) => queue.look()));
    const rows = looks.flatMap(({ partitions }, i) => {
      const { name } = queues[i] as Queue;
      const groups = [...new Set(partitions.flatMap(({ pausedGroups }) => pausedGroups))].sort();
      return groups.map((group) => {
        return GROUPS.row({ group, queue: name, paused: true }, ['queues', 'groups', name, group], 'warning');
      });
    });
    return GROUPS.page(rows);
  }

  async function storyOfQueue(queue: Queue): Promise<Story> {
    const look = await queue.look();
    const total = totalOf(look);
    const { partitions, startLimit, groupLimits, leaseMs } = queue.options;
    const limits = {
      startLimit: startLimit && `${startLimit.limit} / ${startLimit.windowMs} ms`,
      groupConcurrency: groupLimits?.concurrency,
    };
    const state = {
      paused: look.paused,
      leasesEnded: total.ended,
      workers: knownOf(total.workers),
      partitions,
      leaseMs,
    };
    return {
      title: queue.name,
      facts: [
        ...facts('paused waiting overdue running leasesEnded dead lateMs:duration workers', { ...total, ...state }),
        ...facts('partitions leaseMs:duration startLimit groupConcurrency', { ...state, ...limits }),
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
      facts: facts('queue:link paused', { queue: link(addressOfQueue(queue.name)), paused }),
      sentences: [
        paused
          ? say('group-paused', { group }, { action: 'resume', address: ['queues', 'groups', queue.name, group] })
          : say('group-not-paused', { group }),
      ],
      lists: [{ name: 'tasks', listing: TASKS.page(items.map((task) => rowOfTask(queue, task))) }],
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
      facts: facts('queue:link rule name group nextRunAtMs:instant nextTask:link payload:payload', {
        ...{ queue: link(addressOfQueue(queue.name)), rule: textOfRule(rule), name, group, nextRunAtMs },
        ...{ nextTask: link(addressOfTask(queue.name, `${id}@${nextRunAtMs}`)), payload: context.payload(payload) },
      }),
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
    const { state, group, atMs, payload, progress, result } = task;
    const timeOf = { waiting: 'dueAtMs', running: 'leaseEndsAtMs', dead: 'diedAtMs', done: 'doneAtMs' } as const;
    const values = {
      ...{ ...task, queue: link(addressOfQueue(queue.name)), payload: context.payload(payload) },
      group: group && link(['queues', 'groups', queue.name, group]),
    };
    return {
      title: id,
      facts: [
        ...facts('queue:link state name group:link', values),
        { name: timeOf[state], value: { atMs } },
        ...(state === 'done' ? [] : facts('attemptsMade attempts', values)),
        ...facts('error', values),
        ...(explained ? facts('partition', explained) : []),
        ...(state === 'waiting' && explained ? facts('ahead', explained) : []),
        ...(state === 'running' && explained ? facts('worker', explained) : []),
        ...(state === 'done' ? [] : facts('payload:payload', values)),
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
async function pageOfQueues(
  queues: readonly Queue[],
  list: string,
  cursor: string | undefined,
  limit: number,
  read: (queue: Queue, limit: number, cursor: string | undefined) => Promise<Listing>,
): Promise<Listing> {
  const [first, ...rest] = cursor?.split('|') ?? [];
  const start = queues.findIndex(({ name }) => name === first);
  let from = first === undefined ? undefined : rest.join('|') || undefined;
  const { columns = [] } = COLUMNS[list] ?? {};
  const rows: Row[] = [];
  for (const [index, queue] of [...queues.entries()].slice(Math.max(0, start))) {
    const page = await read(queue, limit - rows.length, from);
    from = undefined;
    rows.push(...page.rows);
    // The page ends here even if the filter has left it short. Otherwise, one request could read all tasks of a queue.
    if (page.nextCursor !== undefined) return { columns, rows, nextCursor: `${queue.name}|${page.nextCursor}` };
    const next = queues[index + 1];
    if (rows.length >= limit && next) return { columns, rows, nextCursor: `${next.name}|` };
  }
  return { columns, rows };
}

function partitionsOf({ partitions }: QueueLook): Listing {
  const rows = partitions.map((part, partition) => {
    const values = { ...part, partition, workers: knownOf(part.listeners) };
    return PARTITIONS.row(values, undefined, part.lateMs > 5_000 && 'warning');
  });
  return PARTITIONS.all(rows);
}

/** Returns a number of workers; undefined if it is -1, which means unknown. */
function knownOf(workers: number): number | undefined {
  return workers < 0 ? undefined : workers;
}

function textOfRule(rule: { readonly cron?: string; readonly timeZone?: string; readonly everyMs?: number }): string {
  return rule.cron === undefined ? `every ${rule.everyMs} ms` : `${rule.cron} ${rule.timeZone ?? 'UTC'}`;
}

/** Returns true if a text can be the id of a task. */
function isTaskId(id: string): boolean {
  // eslint-disable-next-line no-control-regex
  return id !== '' && id.length <= 256 && id.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(id);
}
