import type { JobRecord, ScheduledLockService } from 'luanest/scheduled-lock';
import { CONSOLE, endsWithin, isIdOf, thrownText } from '../../../internal/src';
import type { Address, Done, Listing, Match, Row, SectionFactory, Sentence } from '../console.types';
import { parseFilter } from './filters';
import { globOf, MOST_OF_SEARCH, scanPage, scanSentences, taggedKeys } from './scan';
import { say } from './sentences';
import { nothing, one, oneOf, pageOf, refused, unknownAddress } from './support';
import { facts, table } from './table';

type Look = Awaited<ReturnType<ReturnType<ScheduledLockService[typeof CONSOLE]>['look']>>;

const ALL = ['jobs', 'all'] as const;
const OTHERS = ['jobs', 'others'] as const;
const FILTERS = ['running', 'failing'] as const;
/** Number of past runs that are read for each job: all that Redis keeps. */
const RECORDS = 50;
/** MAX_TAG: maximum length of `<namespace>:<job>`, in characters. MOST_FOUND: maximum number of jobs of other apps in a search result. */
const [MAX_TAG, MOST_FOUND] = [1_024, 20];
/** Longest time that `run-now` waits for the end of the run, ms. A longer run continues. */
const SOON_MS = 1_000;
/** Calls with these statuses did not run the job (locked, already claimed, or not on time), so they do not show whether the job works. */
const SKIPPED: readonly JobRecord['status'][] = ['skipped-held', 'skipped-slot', 'stale'];

/**
 * Section of the jobs, and of handlers with a lock. It shows when a job of this app runs next, which process runs a job now, and how
 * the last runs ended. A scan of the keys finds the jobs of other apps.
 */
export const jobsSection: SectionFactory = (app) => {
  const service = app.find('ScheduledLockService') as ScheduledLockService | undefined;
  if (service === undefined) return undefined;

  const jobs = service[CONSOLE]();
  const lookAt = (name: string): Promise<Look> => jobs.look(name, RECORDS);
  const lookAtAll = async (): Promise<(readonly [string, Look])[]> => {
    return Promise.all(service.names.map(async (name) => [name, await lookAt(name)] as const));
  };
  const { pattern, tagOf } = taggedKeys(jobs.registry, 'scheduled-lock', 'history');
  /** Reads the jobs of other apps, page by page. The page shows such a job as `<namespace>:<job>`. */
  const others = async (page: Parameters<typeof scanPage>[2], name?: string) => {
    const own = new Set(service.names.map((each) => jobs.tagOf(each)));
    const chosen = name === undefined ? pattern : pattern.replace('*', () => `*${globOf(name)}`);
    const isWanted = (tag: string) => name === undefined || tag === name || tag.endsWith(`:${name}`);
    return scanPage(jobs.registry, chosen, page, (keys) => {
      const tags = keys.map(tagOf).filter((tag) => !own.has(tag) && isWanted(tag));
      return Promise.all(tags.map(async (tag) => [tag, await jobs.lookAt(tag, RECORDS)] as const));
    });
  };
  const otherIn = async ([, list, tag = '']: readonly string[]): Promise<Look | undefined> => {
    const look = list === 'others' && isIdOf(tag, MAX_TAG) ? await jobs.lookAt(tag, RECORDS) : undefined;
    return look !== undefined && (look.run !== 'none' || look.records.length > 0) ? look : undefined;
  };
  const nameIn = ([, list, name]: readonly string[]): string | undefined =>
    list === 'all' && name !== undefined && service.names.includes(name) ? name : undefined;

  return {
    name: 'jobs',
    lists: [
      { name: 'all', filters: FILTERS },
      { name: 'others', filters: [] },
    ],
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

    async list(address, { filter, cursor, limit }) {
      const name = address.length === 4 && address[3] === 'runs' ? nameIn(address) : undefined;
      if (name !== undefined) return runsOf(await service.history(name));
      if (address.length === 4 && address[3] === 'runs') {
        return runsOf(((await otherIn(address)) ?? unknownAddress(address)).records);
      }
      if (address.length === 2 && address[1] === 'others') {
        const { items, nextCursor } = await others(pageOf({ limit, cursor }));
        const rows = items.map(([name, look]) => rowOf(OTHERS, name, look));
        return { ...JOBS.page(rows, nextCursor), sentences: scanSentences(rows, nextCursor, limit) };
      }
      if (address.length !== 2 || address[1] !== 'all') return unknownAddress(address);
      const wanted = parseFilter(filter, FILTERS).state;
      const rows = (await lookAtAll())
        .map(([name, look]) => ({ name, look, level: sentenceOf(name, look).level }))
        .filter(({ look }) => wanted !== 'running' || look.run === 'running')
        .filter(({ level }) => wanted !== 'failing' || level === 'error' || level === 'warning')
        .map(({ name, look }) => rowOf(ALL, name, look));
      return JOBS.all(rows);
    },

    async show(address) {
      const own = address.length === 3 ? nameIn(address) : undefined;
      const name = own ?? address[2] ?? '';
      const [look, records] =
        own === undefined
          ? [address.length === 3 ? await otherIn(address) : undefined, undefined]
          : await Promise.all([lookAt(own), service.history(own)]);
      if (look === undefined) return undefined;
      const { kind, run, leaseEndsAtMs } = look;
      return {
        title: name,
        facts: facts('kind nextAtMs:instant state node mode startedAtMs:instant leaseEndsAtMs:instant fence', {
          ...look,
          ...{ state: run, leaseEndsAtMs: run === 'running' ? leaseEndsAtMs : 0 },
        }),
        sentences: [sentenceOf(name, look)],
        lists: [{ name: 'runs', listing: runsOf(records ?? look.records) }],
        actions: kind === 'handler' || kind === 'other' ? [] : ['run-now'],
      };
    },

    async find(id) {
      const of = (list: Address, name: string, look: Look): Match => {
        return { address: [...list, name], kind: 'job', title: name, sentence: sentenceOf(name, look) };
      };
      if (service.names.includes(id)) return [of(ALL, id, await lookAt(id))];
      if (!isIdOf(id, MAX_TAG)) return [];
      const { items } = await others({ limit: MOST_FOUND, mostVisited: MOST_OF_SEARCH }, id);
      return items.map(([name, look]) => of(OTHERS, name, look));
    },

    async preview(_action, target) {
      const address = oneOf(target);
      const name = nameIn(address) ?? unknownAddress(address);
      const look = await lookAt(name);
      if (look.kind === 'handler') return nothing(say('job-is-handler'));
      return look.run === 'running' ? nothing(sentenceOf(name, look)) : one(name);
    },

    async run(_action, target) {
      const address = oneOf(target);
      const name = nameIn(address) ?? unknownAddress(address);
      return (await lookAt(name)).kind === 'handler' ? refused(say('job-is-handler')) : runNow(service, name);
    },
  };
};

const JOBS = table('name:link kind nextAtMs:instant runningOn lastStatus lastAtMs:instant lastDurationMs:duration');
const RUNS = table('recordedAtMs:instant status node durationMs:duration slotAtMs:instant fence:number');

/** Starts a run of a job, and waits at most SOON_MS for the outcome, because a job may run for hours. */
async function runNow(service: ScheduledLockService, name: string): Promise<Done> {
  let outcome: Done | undefined;
  const running = service.runNow(name).then(
    ({ ran, status }) => {
      outcome = ran ? { count: 1 } : refused(notRun(name, status));
    },
    (error: unknown) => {
      const values = { name, error: thrownText(error) };
      outcome = { count: 1, refused: say('job-run-failed', values) };
    },
  );
  await endsWithin(SOON_MS, running);
  return outcome ?? { count: 1 };
}

function notRun(name: string, status: string): Sentence {
  return status === 'skipped-held' ? say('job-locked', { name }) : say('job-not-run', { name, status });
}

function lastOf({ records }: Look): JobRecord | undefined {
  return records.find(({ status }) => !SKIPPED.includes(status));
}

function rowOf(list: Address, name: string, look: Look): Row {
  const { kind, nextAtMs, run, node } = look;
  const { status, recordedAtMs, durationMs } = lastOf(look) ?? {};
  const last = { lastStatus: status, lastAtMs: recordedAtMs, lastDurationMs: durationMs };
  const now = { name, kind, nextAtMs, runningOn: run === 'running' ? node : null };
  return JOBS.row({ ...now, ...last }, [...list, name], sentenceOf(name, look).level);
}

function runsOf(records: readonly JobRecord[]): Listing {
  const rows = records.map((record) => {
    const isBad = ['failed', 'lost', 'redis-error'].includes(record.status);
    // Slot 0 (a run by hand, or a handler) and slot 1 (a timeout) are not instants.
    return RUNS.row({ ...record, slotAtMs: record.slot > 1 ? record.slot : 0 }, undefined, isBad && 'error');
  });
  return RUNS.all(rows);
}

function sentenceOf(name: string, look: Look): Sentence {
  const { kind, run, node, startedAtMs, leaseEndsAtMs } = look;
  const last = lastOf(look);
  const fix = kind === 'handler' || kind === 'other' ? undefined : { action: 'run-now', address: [...ALL, name] };
  if (run === 'running') return say('job-running', { name, node, startedAtMs, leaseEndsAtMs });
  if (run === 'died') return say('job-died', { name, node, startedAtMs }, fix);
  if (last === undefined) return say('job-never-ran', { name });
  const values = { name, node: last.node, recordedAtMs: last.recordedAtMs, durationMs: last.durationMs };
  if (last.status === 'ran') return say('job-ran', values);
  if (last.status === 'failed') return say('job-failed', values, fix);
  return last.status === 'lost' ? say('job-lost', values, fix) : say('job-redis-error', values);
}
