import type { JobRecord, ScheduledLockService } from 'luanest/scheduled-lock';
import { CONSOLE, endsWithin, thrownText } from '../../../internal/src';
import type { Done, Listing, Row, Section, SectionFactory, Sentence } from '../console.types';
import { parseFilter } from './filters';
import { at, lasts, link, oneOf, refused, unknownAction, unknownAddress } from './support';

type Look = Awaited<ReturnType<ReturnType<ScheduledLockService[typeof CONSOLE]>['look']>>;

const ALL = ['jobs', 'all'] as const;
const FILTERS = ['running', 'failing'] as const;
/** Number of past outcomes that are read for each job: all that Redis keeps. */
const RECORDS = 50;
/** Longest time that `run-now` waits for the end of the run, ms. A longer run continues. */
const SOON_MS = 1_000;
/** Outcomes of ticks that another node took, or that came too late. They do not show whether the job works. */
const SKIPPED: readonly JobRecord['status'][] = ['skipped-held', 'skipped-slot', 'stale'];

/**
 * Section of the jobs of this app, and of its handlers with a lock. It shows when a job runs next, which process runs it now, and
 * how the last runs ended.
 */
export const jobsSection: SectionFactory = (app) => {
  const service = app.find('ScheduledLockService') as ScheduledLockService | undefined;
  if (service === undefined) return undefined;

  const jobs = service[CONSOLE]();
  const lookAt = (name: string): Promise<Look> => jobs.look(name, RECORDS);
  const lookAtAll = async (): Promise<(readonly [string, Look])[]> => {
    return Promise.all(service.names.map(async (name) => [name, await lookAt(name)] as const));
  };
  const nameIn = ([, list, name]: readonly string[]): string | undefined =>
    list === 'all' && name !== undefined && service.names.includes(name) ? name : undefined;

  const section: Section = {
    name: 'jobs',
    lists: [{ name: 'all', filters: FILTERS }],
    actions: [{ name: 'run-now', danger: false, on: 'one' }],

    async summary() {
      const all = await lookAtAll();
      return {
        figures: [
          { name: 'jobs', value: all.length, address: ALL },
          { name: 'running', value: all.filter(([, { run }]) => run === 'running').length, address: ALL },
        ],
        sentences: all.map(([name, look]) => sentenceOf(name, look)).filter(({ level }) => level === 'error'),
      };
    },

    async list(address, { filter }) {
      const name = address.length === 4 && address[3] === 'runs' ? nameIn(address) : undefined;
      if (name !== undefined) return runsOf(await service.history(name));
      if (address.length !== 2 || address[1] !== 'all') return unknownAddress(address);
      const wanted = parseFilter(filter, FILTERS).state;
      const rows = (await lookAtAll())
        .map(([name, look]) => ({ name, look, level: sentenceOf(name, look).level }))
        .filter(({ look }) => wanted !== 'running' || look.run === 'running')
        .filter(({ level }) => wanted !== 'failing' || level === 'error' || level === 'warning')
        .map(({ name, look, level }) => rowOf(name, look, level));
      return {
        columns: [
          { name: 'name', kind: 'link' },
          { name: 'kind' },
          { name: 'nextAtMs', kind: 'instant' },
          { name: 'runningOn' },
          { name: 'lastStatus' },
          { name: 'lastAtMs', kind: 'instant' },
          { name: 'lastDurationMs', kind: 'duration' },
        ],
        rows,
        total: rows.length,
      };
    },

    async show(address) {
      const name = address.length === 3 ? nameIn(address) : undefined;
      if (name === undefined) return undefined;
      const [look, records] = await Promise.all([lookAt(name), service.history(name)]);
      const { kind, nextAtMs, run, node, mode, startedAtMs, leaseEndsAtMs, fence } = look;
      return {
        title: name,
        facts: [
          { name: 'kind', value: kind },
          { name: 'nextAtMs', value: at(nextAtMs) },
          { name: 'state', value: run },
          { name: 'node', value: node || null },
          { name: 'mode', value: mode || null },
          { name: 'startedAtMs', value: at(startedAtMs) },
          { name: 'leaseEndsAtMs', value: run === 'running' ? at(leaseEndsAtMs) : null },
          { name: 'fence', value: fence },
        ],
        sentences: [sentenceOf(name, look)],
        lists: [{ name: 'runs', listing: runsOf(records) }],
        actions: kind === 'handler' ? [] : ['run-now'],
      };
    },

    async find(id) {
      if (!service.names.includes(id)) return [];
      return [{ address: [...ALL, id], kind: 'job', title: id, sentence: sentenceOf(id, await lookAt(id)) }];
    },

    async preview(action, target) {
      if (action !== 'run-now') return unknownAction('jobs', section.actions, action);
      const address = oneOf(target, action);
      const name = nameIn(address) ?? unknownAddress(address);
      const look = await lookAt(name);
      const one = { count: 1, more: false, samples: [name] };
      if (look.kind === 'handler') return { ...one, count: 0, samples: [], sentence: HANDLER };
      if (look.run === 'running') return { ...one, count: 0, samples: [], sentence: sentenceOf(name, look) };
      return one;
    },

    async run(action, target) {
      if (action !== 'run-now') return unknownAction('jobs', section.actions, action);
      const address = oneOf(target, action);
      const name = nameIn(address) ?? unknownAddress(address);
      if ((await lookAt(name)).kind === 'handler') return refused(HANDLER);
      return runNow(service, name);
    },
  };
  return section;
};

const HANDLER: Sentence = {
  code: 'job-is-handler',
  text: 'This is a handler of requests or messages. It runs when one comes, and not by hand.',
  level: 'info',
};

/** Starts a run of a job. Waits at most SOON_MS for the outcome, because a job may run for hours. */
async function runNow(service: ScheduledLockService, name: string): Promise<Done> {
  let outcome: Done | undefined;
  const running = service.runNow(name).then(
    ({ ran, status }) => {
      outcome = ran ? { count: 1 } : refused(notRun(name, status));
    },
    (error: unknown) => {
      const values = { name, error: thrownText(error) };
      const text = `The job ${name} ran, and failed: ${values.error}.`;
      outcome = { count: 1, refused: { code: 'job-run-failed', text, level: 'error', values } };
    },
  );
  await endsWithin(SOON_MS, running);
  return outcome ?? { count: 1 };
}

function notRun(name: string, status: string): Sentence {
  if (status === 'skipped-held') {
    return {
      code: 'job-locked',
      text: `The job ${name} did not run, because its lock is held.`,
      level: 'warning',
      values: { name },
    };
  }
  return {
    code: 'job-not-run',
    text: `The job ${name} did not run: ${status}.`,
    level: 'error',
    values: { name, status },
  };
}

function lastOf({ records }: Look): JobRecord | undefined {
  return records.find(({ status }) => !SKIPPED.includes(status));
}

function rowOf(name: string, look: Look, level: Sentence['level']): Row {
  const last = lastOf(look);
  const address = [...ALL, name];
  const cells = [
    ...[link(address), look.kind, at(look.nextAtMs), look.run === 'running' ? look.node : null],
    ...[last?.status ?? null, at(last?.recordedAtMs), lasts(last?.durationMs)],
  ];
  return { address, cells, ...((level === 'error' || level === 'warning') && { level }) };
}

function runsOf(records: readonly JobRecord[]): Listing {
  const rows = records.map(({ status, slot, recordedAtMs, durationMs, fence, node }): Row => {
    const bad = status === 'failed' || status === 'lost' || status === 'redis-error';
    // Slot 0 (a run by hand, or a handler) and slot 1 (a timeout) are not instants.
    const cells = [at(recordedAtMs), status, node, lasts(durationMs), at(slot > 1 ? slot : 0), fence];
    return { cells, ...(bad && { level: 'error' as const }) };
  });
  return {
    columns: [
      { name: 'recordedAtMs', kind: 'instant' },
      { name: 'status' },
      { name: 'node' },
      { name: 'durationMs', kind: 'duration' },
      { name: 'slotAtMs', kind: 'instant' },
      { name: 'fence', kind: 'number' },
    ],
    rows,
    total: rows.length,
  };
}

function sentenceOf(name: string, look: Look): Sentence {
  const { run, node, startedAtMs, leaseEndsAtMs } = look;
  const last = lastOf(look);
  const fix = { action: 'run-now', address: [...ALL, name] };
  if (run === 'running') {
    const values = { name, node, startedAtMs, leaseEndsAtMs };
    return { code: 'job-running', text: `${node} runs the job ${name} now.`, level: 'info', values };
  }
  if (run === 'died') {
    return {
      code: 'job-died',
      text: `${node} began a run of ${name} and has not ended it: the process died, or its lease ended before the job did.`,
      level: 'error',
      values: { name, node, startedAtMs },
      ...(look.kind !== 'handler' && { fix }),
    };
  }
  if (last === undefined) {
    return { code: 'job-never-ran', text: `Redis knows no run of the job ${name}.`, level: 'info', values: { name } };
  }
  const values = { name, node: last.node, recordedAtMs: last.recordedAtMs, durationMs: last.durationMs };
  if (last.status === 'ran') {
    return { code: 'job-ran', text: `The last run of ${name}, on ${last.node}, succeeded.`, level: 'ok', values };
  }
  if (last.status === 'failed') {
    return {
      code: 'job-failed',
      text: `The last run of ${name}, on ${last.node}, failed. The log of ${last.node} has the error.`,
      level: 'error',
      values,
      ...(look.kind !== 'handler' && { fix }),
    };
  }
  if (last.status === 'lost') {
    return {
      code: 'job-lost',
      text: `The last run of ${name}, on ${last.node}, lost its lock before it ended.`,
      level: 'error',
      values,
      ...(look.kind !== 'handler' && { fix }),
    };
  }
  return {
    code: 'job-redis-error',
    text: `The last tick of ${name}, on ${last.node}, could not claim its run, because Redis failed.`,
    level: 'error',
    values,
  };
}
